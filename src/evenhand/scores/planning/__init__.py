"""How long sampling goes on: the plans of questions, and what they are expected to take."""
