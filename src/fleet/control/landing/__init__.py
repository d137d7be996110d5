"""What people do with accepted work: see what waits, approve, hold, land, take back."""
