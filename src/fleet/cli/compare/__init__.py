"""`fleet compare`: the command, how entries are followed, and what is printed."""
