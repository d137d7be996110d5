"""Ways to a person: each sends messages, and some bring answers back."""
