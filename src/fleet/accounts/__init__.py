"""Accounts: the logins and keys of coders, what is left of their limits, and who works on which.

`windows`, `pace` and `scheduler` are pure rules; `ledger` keeps what is known over restarts,
`login` makes an agent's environment of an account.
"""
