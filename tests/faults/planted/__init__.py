"""Software with a fault in it, as it is copied beside the configuration of a cell."""
