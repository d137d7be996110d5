"""The tables of the hosts that share a queue."""
