"""Counting recorded decisions in one pass: the frame's engine groups, and hands over cells."""
