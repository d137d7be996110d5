"""`fleet plan`: its commands, and what they print."""
