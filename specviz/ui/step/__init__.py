"""The Step tab: the form, the player, live runs between them."""
