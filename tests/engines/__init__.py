"""Engines: what they promise, their ledgers, and the faults of the virtual world."""
