"""What people do with finished work: review it, approve it, land it, send it back."""
