"""Calls of the real `bd`, and what it prints."""
