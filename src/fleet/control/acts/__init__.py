"""What a person can do, by one table that every surface shares, and the record of it."""
