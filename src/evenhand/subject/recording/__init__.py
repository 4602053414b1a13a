"""Recorded answers: what the software said in a run, so that the run can be repeated without it."""
