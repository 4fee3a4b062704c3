"""The Models tab: models on this machine, in memory and available for download."""
