"""The audit: what a cluster wasted, and why, from its own logs."""
