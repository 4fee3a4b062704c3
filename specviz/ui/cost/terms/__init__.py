"""The top of the tab: what is on it, and where its α and γ come from."""
