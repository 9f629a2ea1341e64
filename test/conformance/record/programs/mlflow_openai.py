"""MLflow's tracing of OpenAI's client, exported over OTLP, with the calls of openai_chat.py."""

import os
import pathlib
import runpy

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"

import mlflow  # noqa: E402, reads the environment

import recording  # noqa: E402

mlflow.openai.autolog()
recording.start = lambda: None
runpy.run_path(str(pathlib.Path(__file__).with_name("openai_chat.py")))
mlflow.flush_trace_async_logging()
