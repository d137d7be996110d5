"""What people do with verified work: see what waits, approve, hold, land, take back."""
