"""Floor 5. The model call: one request, one response, one stream; no provider's name. May import floors 0-4."""
