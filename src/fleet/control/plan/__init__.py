"""`fleet plan`: what a spec asks for, and the tasks that are made for that."""
