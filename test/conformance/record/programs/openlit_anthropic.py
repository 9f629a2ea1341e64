"""OpenLIT's instrumentation of Anthropic's client, with the calls of anthropic_messages.py."""

import os
import pathlib
import runpy

import openlit

import recording

openlit.init(otlp_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], application_name="weather", environment="test",
             disable_batch=True, disable_metrics=True)
recording.start = lambda: None
runpy.run_path(str(pathlib.Path(__file__).with_name("anthropic_messages.py")))
