"""Work that could not land, in its task's clone again: the merge that its agent is to finish, what
others landed, and what became of it.
"""
