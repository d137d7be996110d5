"""`fleet top`: the full-screen view of a home. It reads and acts through `control` alone, and draws
only what is in sight.
"""
