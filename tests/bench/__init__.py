"""Tests of the benchmark: its scenarios and cases, what it measures, and what it prints."""
