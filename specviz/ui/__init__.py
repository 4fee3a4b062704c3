"""The page: gradio, one folder a tab, the queue and the worker of live runs.

Rule: a run's state stays within its run.
"""

from specviz.ui.stubs import leave_unwritten

leave_unwritten()
