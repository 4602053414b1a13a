"""Studies: many data sets, models, methods and splits."""
