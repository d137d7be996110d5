"""The supervisor: it claims ready tasks, starts an agent for each, follows it, and settles.

Disposable by design. Everything it knows stands in the queue and in run directories; agents
belong to their keepers, so that `kill -9` of the supervisor costs nothing. `loop.Supervisor` is
the loop; `settle` is the policy; `keeper` and `process` hold the processes.
"""
