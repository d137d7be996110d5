"""`fleet host add`: one more machine for the queue, set up over ssh."""
