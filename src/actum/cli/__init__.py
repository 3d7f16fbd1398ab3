"""Floor 12. The same verbs for a terminal. May import floors 0-11."""
