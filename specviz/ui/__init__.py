"""The page: Gradio, one folder per tab, the queue and the worker of live runs.

A run's state stays within its run.
"""

from specviz.adapters.gradio import skip_stub_files

skip_stub_files()
