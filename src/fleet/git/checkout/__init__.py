"""Fresh checkouts of a tree, with what the project shares with copies; and a clone's files put back
as the run left them.
"""
