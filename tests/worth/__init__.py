"""Tests of the worth of hardware."""
