"""What speculation costs and when it pays, predicted by formulas: the Cost tab's own arithmetic.

Rule: what is predicted here is marked simulated, what was published says where, and what a run
measured (measured.py) never mixes with either. Standard library only.
"""
