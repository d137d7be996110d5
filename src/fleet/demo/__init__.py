"""`fleet demo`: the real supervisor and the real queue at work on a throw-away project.

Only the agents are simulated. `script` lists the tasks and how each has to end, `simulated_agent`
is the process that works on one, `demo_home` holds the temporary home and the supervisor,
`run_demo` runs the tasks and plays the person, `summary` says what happened.
"""
