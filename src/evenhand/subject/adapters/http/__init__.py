"""A service that decides: its requests, and the outcomes in its responses."""
