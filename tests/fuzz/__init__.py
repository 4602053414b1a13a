"""Fuzzing: files of others are read, or refused in one sentence, and nothing else happens."""
