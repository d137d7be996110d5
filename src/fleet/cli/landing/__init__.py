"""`fleet review` and `fleet land`: what people do with finished work."""
