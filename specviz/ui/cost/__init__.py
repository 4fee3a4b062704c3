"""The Cost tab: when drafting pays, by law, by roofline, by measurement."""
