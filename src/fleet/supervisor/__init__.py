"""The supervisor claims ready tasks, starts an agent for each, follows the runs, and settles.

Disposable by design: everything that the supervisor knows stands in the queue and in run
directories, and agents belong to their keepers, so that `kill -9` of the supervisor costs nothing.
`loop.Supervisor` is the loop, `assignments` the table of tasks in hand, and `dispatcher` moves them
from stage to stage.
"""
