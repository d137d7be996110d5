"""The registry of coders."""
