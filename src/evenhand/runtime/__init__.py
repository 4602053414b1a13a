"""What everything else stands on: errors, options, budgets, workers, files."""
