"""`fleet demo`: the real supervisor and the real queue at work on a throw-away project.

Only the agents are simulated. `script` lists the tasks and how each has to end, `simulated_agent`
is the process that works on one, `demo_home` holds the temporary home and the supervisor,
`run_demo` runs the tasks and plays the person, `summary` says what happened.

`fleet demo --hosts N` has several hosts on one machine, each in a network namespace: `hub` makes
the namespaces, with a real PostgreSQL and the project's repository in one of them, `demo_hosts`
holds the homes, `run_hosts` runs the tasks and cuts a link.
"""
