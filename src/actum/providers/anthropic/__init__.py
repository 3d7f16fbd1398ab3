"""Anthropic, and servers that speak its Messages API: encode, decode, client."""
