"""Drafter by domain over the shipped prompts: plan, measurement, heat map."""
