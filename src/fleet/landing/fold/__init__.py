"""Candidates put onto the line together, and the checks that the result has to pass."""
