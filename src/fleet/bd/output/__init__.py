"""What the `bd` commands print."""
