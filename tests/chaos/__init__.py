"""Many tasks under supervisors, and keepers, that are killed at random moments: see `ordeal`."""
