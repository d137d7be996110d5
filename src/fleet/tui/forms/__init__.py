"""What a person types: answers, messages, new tasks, commands, the word that stops all."""
