"""Heads for any Llama: what it is asked, its own answers with its states, lessons of them.

Rule: nothing here knows the house; a target is a folder or a file that the app can load.
"""
