"""One task as surfaces show it: the whole, the transcript, the diff."""
