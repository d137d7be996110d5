"""From a spec to tasks: readers of plans, their graph, and how a plan gets into the queue."""
