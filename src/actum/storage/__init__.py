"""Floor 5. The storage promise and everything that keeps it. May import floors 0-4."""
