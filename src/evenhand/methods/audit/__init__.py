"""audit: every check of a piece of software under one verdict."""
