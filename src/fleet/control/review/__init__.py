"""A person looks at a task's work, and says what is to be changed."""
