"""The page: gradio, one folder a tab, the queue and the worker of live runs.

Rule: a run's state stays within its run.
"""

from specviz.adapters.gradio import skip_stub_files

skip_stub_files()
