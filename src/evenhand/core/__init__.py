"""The core that the four methods share; it imports nothing else of evenhand."""
