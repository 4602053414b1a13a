"""What evenhand asks of the operating system: whole files, and processes that do not outlive it."""
