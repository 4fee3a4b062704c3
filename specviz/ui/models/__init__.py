"""Models: what is here, what is loaded, what could be had, and fetching it."""
