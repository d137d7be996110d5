"""Landing: accepted work reaches the branch of the project, and every value that the branch takes
is a tree that was verified in that very state.

The supervisor runs these steps in threads beside its loop, and `fleet land` without one. What is
meant is written before it is done, so that either may be killed at any moment.
"""
