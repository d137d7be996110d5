"""The machines that work on one queue, and what tasks need of them. Pure."""
