"""Floor 2. What happened, in order, for ever: records and their payloads. May import floors 0-1."""
