"""Runs an experiment with Langfuse's SDK, as docs/evaluation.md says, and prints the trace of its first item."""

import os

from langfuse import Evaluation, Langfuse

os.environ["LANGFUSE_OTEL_TRACES_EXPORT_PATH"] = "v1/traces"
langfuse = Langfuse(
    public_key="looptrace",
    secret_key="none",
    base_url=os.environ["LOOPTRACE_ENDPOINT"],
    additional_headers={"X-API-Key": os.environ["LOOPTRACE_API_KEY"]},
)
CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Barcelona"}


def answer(*, item, **kwargs):
    if item["input"]["country"] == "Norway":
        raise RuntimeError("no model")
    return CAPITALS[item["input"]["country"]]


def correct(*, output, expected_output, **kwargs):
    return Evaluation(name="correct", value=output == expected_output, comment=f"expected {expected_output}")


result = langfuse.run_experiment(
    name="capitals",
    metadata={"model": "none"},
    data=[
        {"input": {"country": country}, "expected_output": capital, "metadata": {"continent": "Europe"}}
        for country, capital in [("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Norway", "Oslo")]
    ],
    task=answer,
    evaluators=[correct],
)
langfuse.flush()
print(result.item_results[0].trace_id)
