"""Floor 8. One room for each model provider. May import floors 0-7."""
