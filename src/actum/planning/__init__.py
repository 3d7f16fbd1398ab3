"""Floor 6. Who decides the next step of a run. May import floors 0-5."""
