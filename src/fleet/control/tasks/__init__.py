"""What a person does to tasks: stop, retry, tell, answer, and how to take work back."""
