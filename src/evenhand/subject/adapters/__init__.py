"""How to ask the software under test: encoded points into its native form, its answers into outcomes."""
