"""The supervisor without a terminal: its start, its end, its service, and its schedules."""
