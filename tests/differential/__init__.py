"""Policies against brute force, slow references and the judge."""
