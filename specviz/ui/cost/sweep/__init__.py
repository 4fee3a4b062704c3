"""Predicted against measured: pass time on this machine."""
