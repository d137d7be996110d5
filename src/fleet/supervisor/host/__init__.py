"""What the machine can bear: worker threads, and rest after a shortage."""
