"""The real rows that a space was inferred from, and what holds in all of them."""
