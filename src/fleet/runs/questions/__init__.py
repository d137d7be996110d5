"""What agents ask people: the file that both write, and the questions of `ask_human`."""
