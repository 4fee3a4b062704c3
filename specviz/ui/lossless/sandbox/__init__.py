"""The sandbox: a few words, two distributions to drag, a rule, and its output."""
