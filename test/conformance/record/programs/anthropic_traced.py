"""The calls of anthropic_messages.py in one trace."""

import pathlib
import runpy

import recording

traces = recording.start()
recording.start = lambda: None
with traces.get_tracer("weather").start_as_current_span("weather"):
    runpy.run_path(str(pathlib.Path(__file__).with_name("anthropic_messages.py")))
