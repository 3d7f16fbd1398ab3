"""Floor 5. What the product remembers: event history and entries, never the runtime's truth. May import floors 0-4."""
