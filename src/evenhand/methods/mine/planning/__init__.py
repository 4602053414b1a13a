"""What mining is going to take, before it is run."""
