"""Counting the people of every rule set: bits, joins, and the table of what is frequent."""
