"""The ways to repair a model."""
