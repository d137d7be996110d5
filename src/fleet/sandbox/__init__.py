"""The box around an agent: what it opens, the command line that makes it, and whether it works."""
