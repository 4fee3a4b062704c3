"""The Cost tab's figures."""
