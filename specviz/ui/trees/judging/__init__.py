"""Two rules on one drawn tree."""
