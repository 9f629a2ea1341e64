"""Pydantic Evals: a dataset of two cases, with assertions, scores and labels."""

import os

import logfire  # noqa: E402
import recording  # noqa: E402
from pydantic_evals import Case, Dataset  # noqa: E402
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext  # noqa: E402

logfire.configure(service_name=os.environ["RECORD_NAME"], send_to_logfire=False, console=False)


class Weather(Evaluator[str, str]):
    def evaluate(self, ctx: EvaluatorContext[str, str]):
        return {
            "expected": EvaluationReason(value=ctx.output == ctx.expected_output, reason="Compared word by word."),
            "length": len(ctx.output) / 64,
            "tone": "plain",
        }


def weather(city: str) -> str:
    return {"Paris": recording.WEATHER}.get(city, "Sun")


recording.knows(scores=[
    score for case, expected, output in (("paris", True, recording.WEATHER), ("rome", False, "Sun")) for score in (
        {"of": "case: .*", "in": case, "name": "expected", "value": expected, "comment": "Compared word by word.", "source": "program"},
        {"of": "case: .*", "in": case, "name": "length", "value": len(output) / 64, "source": "program"},
        {"of": "case: .*", "in": case, "name": "tone", "label": "plain", "source": "program"},
    )])
Dataset(name="weather", cases=[
    Case(name="paris", inputs="Paris", expected_output=recording.WEATHER),
    Case(name="rome", inputs="Rome", expected_output="Rain"),
], evaluators=[Weather()]).evaluate_sync(weather, progress=False, max_concurrency=1)
logfire.force_flush()
