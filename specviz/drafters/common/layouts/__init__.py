"""In which ways heads are published: how each is known, and how it becomes one of our networks'."""
