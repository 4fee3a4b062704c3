"""The gallery: rules as published, with the claim and the output they really have."""
