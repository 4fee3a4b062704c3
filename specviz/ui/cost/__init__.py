"""The Cost tab: when drafting saves time, by formula, by roofline and by measurement."""
