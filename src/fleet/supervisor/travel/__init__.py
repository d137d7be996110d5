"""A supervisor on a queue that hosts share: what is taken over before a run and sent after one."""
