"""Code that travels: where a directory's code comes from, mirrors of it on other hosts, and refs by
which the work of a run comes to the repository.
"""
