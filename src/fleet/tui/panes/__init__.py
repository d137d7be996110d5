"""What the right side shows of one task, read bit by bit."""
