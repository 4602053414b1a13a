"""What a repair says of itself: its claim, its verdict, and the model it hands over."""
