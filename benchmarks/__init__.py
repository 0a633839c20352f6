"""Comparisons on public data behind the tables of the design decisions; each one is a script with a docstring."""
