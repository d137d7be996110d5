"""`fleet plan`: what a spec asks for, and making tasks of it."""
