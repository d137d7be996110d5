"""`fleet web`: the page, sessions, and pairing another device."""
