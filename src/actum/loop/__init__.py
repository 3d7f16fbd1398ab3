"""Floor 7. The loop: plan, tools, resume, finish; deterministic, safe to replay. May import floors 0-6."""
