"""The machines that share a queue: what each does now, and what people do with them."""
