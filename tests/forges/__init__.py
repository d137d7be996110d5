"""Forges for tests: scripted ones on this machine, and the real Gitea where it was built."""
