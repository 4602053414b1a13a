"""Recorded decisions as counts: the engine of a frame groups its rows, and only counts are read."""
