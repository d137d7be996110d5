"""Commands about the machines that share a queue."""
