"""Floor 10. What an application holds: one door to everything it owns. May import floors 0-9."""
