"""Small agents, each with one vice, and what fleet makes of each."""
