"""The queue on beads: the real `bd` owns the tasks, and fleet's own ledger owns the leases."""
