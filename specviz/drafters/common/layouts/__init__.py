"""Published layouts of heads: how to recognise each, and how to map it to our networks."""
