"""Runs between their start and their settlement."""
