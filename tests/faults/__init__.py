"""The fault campaign: software that fails in every way we know, real signals, damaged files.

`python -m tests.faults` runs a part of it that takes minutes, `--long` all of it. Each cell starts
the real command line on real software; what came of it is judged from outside.
"""
