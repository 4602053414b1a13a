"""The what-if page: edit a person, and see how the software treats their twins."""
