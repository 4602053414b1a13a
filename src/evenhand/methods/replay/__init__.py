"""replay: ask the software again."""
