"""Mixture of Attentions: a head that reads the keys and values of all the target's layers."""
