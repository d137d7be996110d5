"""What the right side shows of one task, and how it is read bit by bit."""
