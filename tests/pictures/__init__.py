"""The pictures that README and docs show, taken from the demo: `make pictures`."""
