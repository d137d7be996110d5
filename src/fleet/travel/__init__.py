"""What of a task goes from host to host on a shared queue: the files of the runs, notes and
messages, and the commits of the work. Which files those are, how they are sent before a run is
settled, and how another host takes them over.
"""
