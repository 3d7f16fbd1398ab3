"""Floor 4. What a tool is and how one is called. May import floors 0-3."""
