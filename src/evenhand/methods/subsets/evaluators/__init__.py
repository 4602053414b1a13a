"""How sets of features are scored: each module tests sets for one kind of score."""
