"""Floor 13. Promises as tests, for whoever writes a store, an engine or a provider. May import floors 0-12."""
