"""Floor 3. The rules, pure: no clock, no I/O, no retries, no SQL. May import floors 0-2."""
