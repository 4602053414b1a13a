"""The values of features: numbers as points, dates, and what is missing."""
