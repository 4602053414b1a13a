"""The sentences of a mining."""
