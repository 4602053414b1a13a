"""Subgroups as they are read: stories, what is within them, and what their conditions carry."""
