"""Calls of the real `bd`, and what `bd` prints."""
