"""The box around an agent: what is opened, the command line for the box, and
whether a box works.
"""
