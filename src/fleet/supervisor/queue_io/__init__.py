"""Everything that the supervisor asks of the queue, on a thread of its own."""
