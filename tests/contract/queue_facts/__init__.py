"""The facts of QueueContract, one module for each group of verbs."""
