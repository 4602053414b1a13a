"""Estimates, intervals, and when to stop."""
