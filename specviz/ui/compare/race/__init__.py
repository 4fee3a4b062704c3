"""The race: a form, live lanes, and their replay."""
