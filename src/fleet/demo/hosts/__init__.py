"""`fleet demo --hosts N`: several hosts on one machine, each in a network namespace.

`demo_network` makes the namespaces and their links, `hub_servers` keeps a real PostgreSQL and the
project's repository in one of them, `host_tasks` lists the tasks, `demo_hosts` holds the homes,
`run_hosts` runs the tasks and cuts a link, `hosts_summary` says what happened.
"""
