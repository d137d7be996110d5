"""`fleet run` and the commands that steer a supervisor."""
