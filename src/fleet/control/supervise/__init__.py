"""The supervisor without a terminal: start, end, service and schedules."""
