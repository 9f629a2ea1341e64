"""Logfire's instrumentation of OpenAI's client, with the calls of openai_chat.py."""

import pathlib
import runpy

import logfire

import recording

# It exports where OTEL_EXPORTER_OTLP_ENDPOINT says.
logfire.configure(send_to_logfire=False, console=False, service_name="weather", metrics=False)
logfire.instrument_openai()
recording.start = lambda: None
runpy.run_path(str(pathlib.Path(__file__).with_name("openai_chat.py")))
logfire.force_flush()
