"""The spool: how the agent of a run asks fleet for something, and how fleet answers.

An agent reaches neither the queue nor the home. Its `bd` and `fleet` put a request into the drop
box of the run; the supervisor holds the request against one table and puts the answer beside it.
"""
