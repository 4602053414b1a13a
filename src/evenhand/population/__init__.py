"""Whom a score is about: all inputs, given rows, weights, recorded decisions."""
