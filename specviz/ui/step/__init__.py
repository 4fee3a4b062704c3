"""The Step tab: a form, a player, and live runs."""
