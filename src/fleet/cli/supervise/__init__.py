"""Commands that keep a supervisor without a terminal: end, service, schedules."""
