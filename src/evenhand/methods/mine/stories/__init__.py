"""Stories: the rule sets that are told, since each adds to what is told before it."""
