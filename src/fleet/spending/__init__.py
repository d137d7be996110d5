"""Budgets, the ledger of a day, and prices of tokens."""
