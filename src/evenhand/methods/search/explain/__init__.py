"""What was found, explained: simplest cases, regions, drivers, diversity."""
