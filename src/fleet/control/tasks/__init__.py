"""What a person does to tasks: stop, retry, tell, answer, restore."""
