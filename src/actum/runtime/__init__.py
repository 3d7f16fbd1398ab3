"""Floor 9. The pieces of a runtime, put together once. May import floors 0-8."""
