"""Where logs come from: files, folders, places on a network, and databases, each by an engine."""
