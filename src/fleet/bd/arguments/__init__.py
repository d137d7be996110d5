"""What the words and flags of a `bd` line mean, as values."""
