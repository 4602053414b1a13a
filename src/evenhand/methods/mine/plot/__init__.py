"""Drawings of what was mined."""
