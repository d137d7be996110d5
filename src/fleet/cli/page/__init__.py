"""`fleet web`: the page, its sessions, and pairing another device."""
