"""From what a run left to what becomes of the task.

A run's record and streams, its outcome, receipt and ending: below `supervisor` and `control`, so
that a run has the same end with a supervisor and without. The settle table and the resume policy
are pure.
"""
