"""Ways to ask the software under test: each adapter turns encoded points into its native form and back into outcomes."""
