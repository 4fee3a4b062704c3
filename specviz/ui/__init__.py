"""The page: Gradio, one folder per tab, the queue and the worker of live runs.

Runs do not share state.
"""

from specviz.adapters.gradio import skip_stub_files

skip_stub_files()
