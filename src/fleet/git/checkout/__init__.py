"""Fresh checkouts of a tree, with what the project shares with its copies; and a clone's files put
back as its run left them.
"""
