"""Many pairs of groups at once."""
