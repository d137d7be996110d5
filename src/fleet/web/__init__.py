"""`fleet web`: the page's server. A process of its own that holds nothing: it reads through
`control`, and works with the supervisor dead.
"""
