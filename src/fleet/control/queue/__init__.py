"""The queue itself: its state and its copies, and what came into it from elsewhere."""
