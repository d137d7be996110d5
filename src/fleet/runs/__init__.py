"""The directory of one run, and every record inside."""
