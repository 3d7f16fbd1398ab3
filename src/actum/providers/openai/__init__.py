"""OpenAI, and servers that speak its Chat Completions: encode, decode, client."""
