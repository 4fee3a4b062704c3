"""The map of drafters by domain, recorded or measured live."""
