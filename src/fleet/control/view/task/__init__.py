"""One task as surfaces show it: the whole, its transcript, its diff."""
