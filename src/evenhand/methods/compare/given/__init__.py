"""Comparisons of scores that somebody else has computed."""
