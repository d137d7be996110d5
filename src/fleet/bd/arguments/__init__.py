"""The words and flags of a `bd` command line, as values."""
