"""The software under test, and the only caller of it."""
