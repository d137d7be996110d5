"""Commands that keep a supervisor without a terminal: its end, its service, its schedules."""
