"""Keepers, process trees, and programs that are started and waited for."""
