"""Readers of specs, one file a format: each makes a plan of a spec's text and touches no file."""
