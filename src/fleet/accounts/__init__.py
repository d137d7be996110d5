"""Accounts: the logins and keys of coders, what is left of their limits, and which task uses which.

`rate_windows`, `account_state`, `circuit_breaker` and `choose_account` are pure
rules; `account_store` and `breaker_store` keep states over restarts, `credentials` makes an
agent's environment of an account.
"""
