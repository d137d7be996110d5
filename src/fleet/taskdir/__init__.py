"""The task directory: it owns the evidence of each task and of each run at it."""
