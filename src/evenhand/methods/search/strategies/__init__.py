"""Strategies that look for discriminatory inputs: the three of Aequitas, an adaptive one, and one with a surrogate."""
