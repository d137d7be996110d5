"""Several hosts on one machine: network namespaces, a PostgreSQL in one of them, a home in each."""
