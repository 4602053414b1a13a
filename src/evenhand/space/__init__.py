"""What an input can be, and how inputs are encoded."""
