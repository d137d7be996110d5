"""What a person is to be told of, and how an answer from elsewhere reaches the task."""
