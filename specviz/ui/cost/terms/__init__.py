"""The top of the tab: its contents, and the source of its α and γ."""
