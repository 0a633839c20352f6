"""Tests of the exact policy `full` and of its peer."""
