"""Mixture of Attentions: a head that reads what all the target's layers kept."""
