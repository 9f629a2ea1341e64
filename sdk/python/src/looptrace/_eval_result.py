"""What an evaluation found: scores, failures and the accounting, and how they are printed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._eval_gate import GateResult, Inconclusive, gate, gate_async
from ._eval_grade import Score
from ._eval_send import CaseResult

_MAX_FAILURES = 10
_MAX_REASON = 200
_ACCOUNTS = ("scored", "target_failed", "judge_failed", "skipped", "pending")


@dataclass(frozen=True)
class MeanScore:
    """The mean of a score over the items."""

    name: str
    # None without a value.
    mean: float | None
    # The 95 % interval. None if there is none, or if Looptrace has not summarized the eval-run.
    interval: tuple[float, float] | None
    # The share of outputs that pass, of those that have a pass or fail. None without any.
    pass_rate: float | None
    # Items with a value.
    items: int


@dataclass(frozen=True)
class CaseFailure:
    """An item whose task failed, whose output did not pass, or whose grader failed."""

    # The key of the item, or its id.
    key: str
    repeat: int
    kind: Literal["task", "score", "grader"]
    reason: str
    run_id: str | None

    def __str__(self) -> str:
        what = {"task": "the task failed", "score": "did not pass", "grader": "a grader failed"}[self.kind]
        return f"{self.key}, repeat {self.repeat}, {what}: {self.reason}"


class Evaluation:
    """The result of an evaluation. print shows it as a table."""

    def __init__(
        self,
        eval_run: dict[str, Any],
        results: list[CaseResult],
        *,
        url: str,
        unsent: list[tuple[CaseResult, str]],
        problems: list[str],
        extend: Callable[[int], Awaitable[Evaluation]] | None = None,
    ) -> None:
        self._eval_run, self._unsent = eval_run, unsent
        # Makes a new eval-run with these results and more, up to that many repeats. None if results are missing.
        self._extend = extend
        # All results, in the order in which they came. They have the scores of Looptrace's graders too.
        self.results = results
        # The page of the eval-run.
        self.url = url
        # What went wrong besides the tasks and graders.
        self.problems = problems

    def __repr__(self) -> str:
        return f"<Evaluation {self.name} {self.id} {self.status}>"

    @property
    def id(self) -> str:
        """The id of the eval-run."""
        return str(self._eval_run["id"])

    @property
    def name(self) -> str:
        return str(self._eval_run["name"])

    @property
    def dataset_id(self) -> str:
        return str(self._eval_run["dataset"]["id"])

    @property
    def repeats(self) -> int:
        return int(self._eval_run["repeats"])

    @property
    def status(self) -> str:
        """`succeeded`; `cancelled`, if somebody cancelled it; else it could not be finished, see `problems`."""
        return str(self._eval_run["status"])

    @property
    def unsent(self) -> int:
        """How many results Looptrace does not have."""
        return len(self._unsent)

    @property
    def scores(self) -> dict[str, MeanScore]:
        """The mean of each score, by its name."""
        summary = self._eval_run["summary"]
        return _local_scores(self.results) if summary is None else _scores(summary["scores"])

    @property
    def accounting(self) -> dict[str, int] | None:
        """How many items are `scored`, `target_failed`, `judge_failed`, `skipped` and `pending`; together they are
        `items`. None if Looptrace has not summarized the eval-run."""
        if self._eval_run["summary"] is None:
            return None
        found = self._eval_run["accounting"]
        return {name: int(found[name]) for name in ("items", *_ACCOUNTS)}

    @property
    def failures(self) -> list[CaseFailure]:
        """The results whose task failed, that a grader did not pass, or that it could not grade, with the reasons."""
        return [failure for result in self.results for failure in _failures(result)]

    def require(
        self,
        metric: str,
        *,
        no_worse_than: Evaluation | str = "baseline",
        margin: float | None = None,
        branch: str | None = None,
        on_inconclusive: Inconclusive = "fail",
        max_repeats: int = 10,
    ) -> GateResult:
        """Like looptrace.gate, and raises GateFailed if the result does not pass.

        Args:
            metric: The name of a score, or cost_usd, duration_ms, output_tokens or failures.
            no_worse_than: An Evaluation, the id of an eval-run, or "baseline": the newest one of this name on the
                branch.
            margin: How much worse it may be, in units of the metric. Default: what the items support, at most 0.05
                of a score.
            branch: The branch of the baseline. Default: the one that a pull request is for, else main.
            on_inconclusive: "fail", "warn", or "extend", which adds repeats until it is decided.
            max_repeats: The most repeats of each item that "extend" makes.

        Raises:
            GateFailed: It is worse, incomplete or inconclusive. It is an AssertionError and has the `result`.
            EvaluationNotFound: There is no baseline.
            EvaluationError: Looptrace refused, or did not answer.
        """
        return gate(
            self, _named(no_worse_than), metric=metric, margin=margin, branch=branch, on_inconclusive=on_inconclusive,
            max_repeats=max_repeats,
        ).required()  # fmt: skip

    async def require_async(
        self,
        metric: str,
        *,
        no_worse_than: Evaluation | str = "baseline",
        margin: float | None = None,
        branch: str | None = None,
        on_inconclusive: Inconclusive = "fail",
        max_repeats: int = 10,
    ) -> GateResult:
        """Like require, for programs with a running event loop."""
        result = await gate_async(
            self, _named(no_worse_than), metric=metric, margin=margin, branch=branch, on_inconclusive=on_inconclusive,
            max_repeats=max_repeats,
        )  # fmt: skip
        return result.required()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        run = self._eval_run
        origin = "".join(f", {name} {run[name]}" for name in ("branch", "commit") if run.get(name))
        dataset = f"{run['dataset']['name']} revision {run['dataset']['revision']}"
        lines = [f"{self.name}: {dataset}, {self.repeats} {'repeat' if self.repeats == 1 else 'repeats'}{origin}"]
        lines += _table(self.scores, summarized=run["summary"] is not None)
        if (accounting := self.accounting) is not None:
            parts = ", ".join(f"{accounting[name]} {name.replace('_', ' ')}" for name in _ACCOUNTS)
            lines.append(f"{accounting['items']} items: {parts}")
        failures = self.failures
        lines += [_short(str(failure)) for failure in failures[:_MAX_FAILURES]]
        if len(failures) > _MAX_FAILURES:
            lines.append(f"and {len(failures) - _MAX_FAILURES} more failures")
        if self._unsent:
            lines.append(f"{len(self._unsent)} results were not sent: {_short(self._unsent[0][1])}")
        if self.status not in ("succeeded", "running"):
            lines.append(f"status: {self.status}")
        return [*lines, *self.problems, self.url]


def _named(baseline: Evaluation | str) -> Evaluation | str | None:
    return None if baseline == "baseline" else baseline


def _failures(result: CaseResult) -> list[CaseFailure]:
    key = result.item.key or str(result.item.id)

    def failure(kind: Literal["task", "score", "grader"], reason: str) -> CaseFailure:
        return CaseFailure(key, result.repeat, kind, reason, result.run_id)

    if result.error is not None:
        return [failure("task", str(result.error))]
    found = []
    for score in result.scores:
        if score.error is not None:
            found.append(failure("grader", f"{score.name}: {score.error}"))
        elif score.passed is False:
            found.append(failure("score", f"{score.name}: {score.reason}" if score.reason else score.name))
    return found


def read_server_scores(results: list[CaseResult], items: Mapping[tuple[str, int], list[dict[str, Any]]]) -> None:
    """Adds the scores of Looptrace's graders to the results."""
    for result in results:
        own = {score.name for score in result.scores}
        for found in items.get((str(result.item.id), result.repeat), []):
            if found["name"] not in own:
                result.scores.append(
                    Score(found["score"], found["pass"], found["reason"], found["name"], found["error"] or None)
                )


def _scores(listed: list[dict[str, Any]]) -> dict[str, MeanScore]:
    return {
        each["name"]: MeanScore(
            each["name"], each["mean"], None if each["ci"] is None else (each["ci"][0], each["ci"][1]),
            each["pass_rate"], each["n"],
        )
        for each in listed
        if each["kind"] == "score"
    }  # fmt: skip


def _local_scores(results: list[CaseResult]) -> dict[str, MeanScore]:
    """Returns the means of what is here: of each item over its repeats, then over the items."""
    by_name: dict[str, dict[str, list[Score]]] = {}
    for result in results:
        for score in result.scores:
            by_name.setdefault(score.name, {}).setdefault(str(result.item.id), []).append(score)
    means = {}
    for name, by_item in by_name.items():
        values = [[score.score for score in scores if score.score is not None] for scores in by_item.values()]
        of_items = [sum(each) / len(each) for each in values if each]
        passes = [score.passed for scores in by_item.values() for score in scores if score.passed is not None]
        means[name] = MeanScore(
            name, sum(of_items) / len(of_items) if of_items else None, None,
            sum(passes) / len(passes) if passes else None, len(of_items),
        )  # fmt: skip
    return means


def _table(scores: Mapping[str, MeanScore], *, summarized: bool) -> list[str]:
    if not scores:
        return ["no scores"]
    rows = [("score", "mean", "95 % interval", "pass rate", "items")]
    for name, one in scores.items():
        interval = "-" if one.interval is None else f"{_number(one.interval[0])} to {_number(one.interval[1])}"
        rate = "-" if one.pass_rate is None else f"{100 * one.pass_rate:.0f} %"
        rows.append((name, _number(one.mean), interval, rate, str(one.items)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not summarized:
        lines.append("Looptrace has not summarized the results: these means are of this program")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(text: str) -> str:
    # Texts of others, such as outputs, must not control the terminal.
    line = "".join(each if each.isprintable() else repr(each)[1:-1] for each in " ".join(text.split()))
    return line if len(line) <= _MAX_REASON else line[: _MAX_REASON - 1] + "…"
