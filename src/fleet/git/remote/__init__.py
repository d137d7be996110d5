"""A branch in another repository: which one it is, and git as its operator would use it there."""
