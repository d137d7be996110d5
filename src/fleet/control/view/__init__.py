"""The read model that every surface shows: values, and the functions that read them."""
