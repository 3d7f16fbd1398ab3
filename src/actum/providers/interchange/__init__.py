"""Transcripts in the words of others: importers and exporters, one file a format. May import floors 0-8."""
