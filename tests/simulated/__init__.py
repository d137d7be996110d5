"""Programs that stand in for the real ones, fast and able to fail in every known way."""
