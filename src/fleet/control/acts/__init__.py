"""What a person can do, by one table that every surface shares."""
