"""Configuration files: which software, which space, which checks, which study."""
