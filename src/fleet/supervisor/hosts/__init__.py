"""The supervisor as one of several hosts on a shared queue."""
