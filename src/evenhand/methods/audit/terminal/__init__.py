"""An audit on a screen: a row for each question, and the worst of them in words."""
