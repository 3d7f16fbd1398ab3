"""Floor 3. Messages out of records, and the laws a transcript obeys, pure. May import floors 0-2."""
