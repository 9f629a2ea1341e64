"""OpenLIT's instrumentation of OpenAI's client, with the calls of openai_chat.py."""

import os
import pathlib
import runpy

import openlit

import recording

openlit.init(otlp_endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], application_name="weather", environment="test",
             disable_batch=True, disable_metrics=True)
recording.start = lambda: None
runpy.run_path(str(pathlib.Path(__file__).with_name("openai_chat.py")))
