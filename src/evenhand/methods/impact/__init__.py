"""impact: selection rates and impact ratios."""
