"""The trace of a task: ids, known before a run begins, and which runs were exported."""
