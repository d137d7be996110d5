"""The git hands of landing: accepted work is folded onto the line of a branch, and the line moves.

Every merge is made in a git directory of fleet's own, without an index or a working tree: no hook,
driver or filter of the project takes part, and no file of a person's is touched. The project sees
its refs move from one value to the next, by compare-and-swap.

Work that cannot land is merged with the line in the task's clone, for its agent to finish
(`begin_merge`, `merge_facts`).
"""
