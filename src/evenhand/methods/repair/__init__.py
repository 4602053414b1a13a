"""repair: train a model again, and show whether it helped."""
