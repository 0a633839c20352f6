"""Tests of the readers of what Slurm says."""
