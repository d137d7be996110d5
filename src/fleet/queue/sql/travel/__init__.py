"""What travels between hosts through the queue: files of runs, live lines, the right to land."""
