"""Everything that the supervisor asks of the queue, on a separate thread."""
