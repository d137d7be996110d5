"""Telegram and ntfy on loopback, as far as fleet speaks to them: with long polls, and troubles."""
