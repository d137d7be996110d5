"""What the `bd` commands ask of a SQL queue beyond claim and settle."""
