"""What the screen shows of each thing: functions from values of `control` to lines."""
