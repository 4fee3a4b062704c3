"""The sandbox: a few words, two laws to drag, a rule, and what comes out."""
