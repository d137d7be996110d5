"""A supervisor on a queue that hosts share: what it takes over before a run and sends after one."""
