"""The race: its form, live races, and their replay."""
