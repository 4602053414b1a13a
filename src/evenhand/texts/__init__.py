"""Texts as inputs: lexicons, matching, text classifiers."""
