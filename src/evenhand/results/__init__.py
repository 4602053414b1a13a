"""Evidence: cases, findings and results, and their JSON."""
