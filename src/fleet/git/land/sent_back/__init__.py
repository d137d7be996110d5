"""Work that could not land, in the task's clone again: the merge that the agent is to finish, what
others landed, and what came of the merge.
"""
