"""Accounts: the logins and keys of coders, what is left of their limits, and which task uses which.

`rate_windows`, `account_state`, `login_faults` and `choose_account` are pure rules;
`account_store` keeps the health of each login over restarts, `credentials` makes an agent's
environment of an account.
"""
