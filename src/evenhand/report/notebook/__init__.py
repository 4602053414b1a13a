"""What notebooks show of spaces, findings, cases and drawings."""
