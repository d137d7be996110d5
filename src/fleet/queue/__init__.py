"""The queue: it owns each task's status and the order of work. `base.Queue` is the protocol."""
