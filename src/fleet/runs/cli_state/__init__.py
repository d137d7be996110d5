"""What the CLI of a boxed run keeps: the state directory of the run, the sessions of the task."""
