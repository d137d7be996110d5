"""Fresh checkouts of a tree, with what the project shares with its copies."""
