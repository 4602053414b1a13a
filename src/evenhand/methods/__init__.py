"""The verbs: each module imports the core only."""
