"""Outcomes that are numbers on a scale: means, medians and errors by group."""
