"""The trace of a task: its ids, known before a run begins, and which runs were exported."""
