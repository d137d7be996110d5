"""`fleet usage` and `fleet stats`."""
