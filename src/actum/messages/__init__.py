"""Floor 1. What a conversation is made of: typed parts and messages. May import floor 0."""
