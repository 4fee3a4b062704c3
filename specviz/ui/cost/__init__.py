"""The Cost tab: when drafting pays, by formula, by roofline and by measurement."""
