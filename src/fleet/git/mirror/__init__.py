"""Code that travels: where a directory's code comes from, mirrors on other hosts, and refs by which
the work of a run comes to the repository.
"""
