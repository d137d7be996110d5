"""`fleet demo`: the real supervisor and the real queue at work on a throw-away project.

Only the agents are simulated: `play` says who does what, `agent` is the process that does it,
`coder` is how fleet drives it, and `show` runs the whole and looks whether it went as staged.
"""
