"""The pytest plugin: the fixture fairness, and what a failure tells."""
