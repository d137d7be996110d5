"""A branch in another repository: which one, and git as the operator would use it there."""
