"""Floor 8. Where loops run. May import floors 0-7."""
