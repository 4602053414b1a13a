"""Software in a process of its own: what it does there ends neither us nor our verdict."""
