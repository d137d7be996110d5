"""What the page's server keeps and asks: sessions, one-time codes, and which process a request
comes from.
"""
