"""`fleet compare`: its command, how its entries are followed, and what it prints."""
