"""Floor 5. What watchers see while a run moves. May import floors 0-4."""
