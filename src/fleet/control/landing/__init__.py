"""What people do with verified work: see what waits, approve it, hold it, land it, take it back."""
