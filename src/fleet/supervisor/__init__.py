"""The supervisor claims ready tasks, starts an agent for each, follows the runs, and settles.

Disposable by design: everything that the supervisor knows stands in the queue and in run
directories, and agents belong to their keepers, so that `kill -9` of the supervisor costs nothing.
`loop.Supervisor` is the loop, and `assignments` the table of tasks in hand. They are moved on by
`start/start_run`, `active/follow_runs`, `stop_runs` and `finish_run`.
"""
