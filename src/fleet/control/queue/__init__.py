"""What `fleet queue` asks for: the queue itself, apart from the tasks in it."""
