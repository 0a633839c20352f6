"""Readers of what Slurm says about jobs and nodes, and the parsers of the cells that they share."""
