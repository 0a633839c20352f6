"""Tests of the explanations."""
