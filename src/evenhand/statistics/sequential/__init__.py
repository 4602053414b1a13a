"""Intervals and tests that hold whenever one looks, and the plans that say when to stop."""
