"""The notifier: a separate process that tells people what needs them, and takes their answers.

The process reads what is so through `control`, keeps what is to be told in an outbox that survives
any kill, and tells it at least once through each channel, under one key a message.
"""
