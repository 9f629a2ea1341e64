"""Gates: whether a candidate is worse than a baseline."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

from ._eval_api import EXTENDS, EvaluationApi, EvaluationNotFound, evaluation_api, refuse_running_loop
from ._eval_origin import base_branch
from ._log import logger

Decision: TypeAlias = Literal["pass", "regression", "incomplete", "inconclusive"]
Inconclusive: TypeAlias = Literal["fail", "warn", "extend"]

_SUMMARY_SECONDS = 120.0
_MAX_REPEATS = 100


@dataclass(frozen=True)
class GateResult:
    """The decision of a gate. print shows it in a sentence."""

    decision: Decision
    # In words.
    sentence: str
    # Whether the decision is pass, or inconclusive with on_inconclusive="warn".
    passed: bool
    metric: str
    margin: float
    # Candidate minus baseline, and its 95 % interval. None if there is none.
    difference: float | None
    interval: tuple[float, float] | None
    # The ids of the eval-runs. With "extend", those with the most repeats.
    candidate: str
    baseline: str
    # How often the gate was asked. With "extend" the intervals of all looks together contain the difference with 95 %.
    looks: int
    # The whole answer of the API.
    details: dict[str, Any]

    def __str__(self) -> str:
        looks = f" (decided at look {self.looks})" if self.looks > 1 else ""
        return self.sentence + looks

    def required(self) -> GateResult:
        """Returns itself, or raises GateFailed if it has not passed."""
        if not self.passed:
            raise GateFailed(self)
        return self


class GateFailed(AssertionError):  # noqa: N818 - says what it is
    """A gate did not pass. result says why."""

    def __init__(self, result: GateResult) -> None:
        super().__init__(str(result))
        self.result = result


class Gated(Protocol):
    """What a gate needs of an Evaluation, which itself has a gate."""

    @property
    def id(self) -> str: ...
    @property
    def repeats(self) -> int: ...
    @property
    def unsent(self) -> int: ...
    @property
    def _eval_run(self) -> dict[str, Any]: ...
    @property
    def _extend(self) -> Callable[[int], Awaitable[Gated]] | None: ...


def gate(
    candidate: Gated | str,
    baseline: Gated | str | None = None,
    *,
    metric: str,
    margin: float | None = None,
    branch: str | None = None,
    group_by: str | None = None,
    on_inconclusive: Inconclusive = "fail",
    max_repeats: int = 10,
) -> GateResult:
    """Decides whether a candidate is worse than a baseline by more than a margin.

    It passes if the whole 95 % interval of the difference is above minus the margin, and is a regression if all of it
    is below. It is incomplete if items of the candidate have no score.

    Args:
        candidate: An Evaluation, or the id of an eval-run.
        baseline: Likewise. Default: the newest succeeded eval-run with the candidate's name and dataset on the branch.
        metric: The name of a score, or cost_usd, output_tokens or failures.
        margin: How much worse it may be, in units of the metric. Default: what the items support, at most 0.05 of a
            score; the result's margin says it. "extend" keeps that of the first look.
        branch: The branch of the baseline. Default: the one that a pull request is for, else main.
        group_by: A path in an item, such as "metadata.customer": items with the same value there belong together and
            count as one cluster. Default: that of the candidate.
        on_inconclusive: "fail", "warn" (it passes, and the log says so), or "extend": the tasks run again, until it is
            decided, there are max_repeats, or no number of repeats would decide it, which the log says. The candidate
            must be an Evaluation of this program then. A baseline that is one, too, gets the same repeats.
        max_repeats: The most repeats of each item that "extend" makes.

    Raises:
        EvaluationNotFound: There is no baseline.
        EvaluationError: Looptrace refused, or did not answer.
    """
    refuse_running_loop("gate")
    return asyncio.run(
        gate_async(
            candidate, baseline, metric=metric, margin=margin, branch=branch, group_by=group_by,
            on_inconclusive=on_inconclusive, max_repeats=max_repeats,
        )
    )  # fmt: skip


async def gate_async(
    candidate: Gated | str,
    baseline: Gated | str | None = None,
    *,
    metric: str,
    margin: float | None = None,
    branch: str | None = None,
    group_by: str | None = None,
    on_inconclusive: Inconclusive = "fail",
    max_repeats: int = 10,
) -> GateResult:
    """Like gate, for programs with a running event loop."""
    if on_inconclusive not in get_args(Inconclusive):
        raise ValueError(f"on_inconclusive={on_inconclusive!r} is none of {', '.join(get_args(Inconclusive))}")
    if margin is not None and (
        isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < math.inf
    ):
        raise ValueError(f"margin={margin!r} is not a number from 0 on")
    if not isinstance(max_repeats, int) or not 1 <= max_repeats <= _MAX_REPEATS:
        raise ValueError(f"max_repeats={max_repeats!r} is not a number from 1 to {_MAX_REPEATS}")
    if on_inconclusive == "extend" and (isinstance(candidate, str) or candidate._extend is None):
        raise ValueError(
            'on_inconclusive="extend" runs the task again: pass the Evaluation that looptrace.evaluate returned, '
            "with all results sent"
        )
    if not isinstance(candidate, str) and candidate.unsent:
        logger.warning("%d results of the candidate were not sent", candidate.unsent)
    api = evaluation_api()
    base = baseline if baseline is not None else await asyncio.to_thread(_newest, api, candidate, branch)
    looks = 0
    while True:
        for each in (candidate, base):
            await asyncio.to_thread(api.summarized, _id(each), _SUMMARY_SECONDS)
        body: dict[str, Any] = {
            "candidate": _id(candidate), "baseline": _id(base), "metric": metric,
            "repeated": on_inconclusive == "extend", **({} if group_by is None else {"group_by": group_by}),
        }  # fmt: skip
        if margin is not None:
            body["margin"] = margin
        answer = await asyncio.to_thread(api.check_gate, body)
        # More repeats would support a narrower default, and never decide it.
        margin = answer["margin"]
        looks += 1
        repeats = _more(candidate, base, answer, max_repeats) if on_inconclusive == "extend" else None
        if repeats is None:
            return _result(answer, _id(candidate), _id(base), looks, on_inconclusive)
        logger.info("the gate is inconclusive: running up to %d repeats", repeats)
        candidate, base = await _extended(candidate, repeats), await _extended(base, repeats)


async def _extended(which: Gated | str, repeats: int) -> Gated | str:
    if isinstance(which, str) or which._extend is None or which.repeats >= repeats:
        return which
    return await which._extend(repeats)


def _id(which: Gated | str) -> str:
    return which if isinstance(which, str) else which.id


def _newest(api: EvaluationApi, candidate: Gated | str, branch: str | None) -> str:
    own = api.eval_run(candidate) if isinstance(candidate, str) else candidate._eval_run
    branch = branch or base_branch()
    # What it extends has results of its own.
    same = {own["id"], own["metadata"].get(EXTENDS)}
    for each in api.eval_runs(name=own["name"], dataset_id=own["dataset"]["id"], branch=branch, status="succeeded"):
        if each["id"] not in same:
            return str(each["id"])
        same.add(each["metadata"].get(EXTENDS))
    raise EvaluationNotFound(
        f"there is no baseline: no other eval-run of {own['name']} succeeded on the branch {branch} with the dataset "
        f"{own['dataset']['name']}. Evaluate that branch first, or name the baseline"
    )


def _more(candidate: Gated | str, base: Gated | str, answer: dict[str, Any], max_repeats: int) -> int | None:
    """Returns how many repeats there should be, or None if the gate is decided, or cannot be by more of them."""
    if isinstance(candidate, str) or answer["decision"] != "inconclusive":
        return None
    if candidate.repeats >= max_repeats:
        logger.warning("the gate is inconclusive with max_repeats=%d", max_repeats)
        return None
    # Few looks: each one runs the whole task.
    double = min(2 * candidate.repeats, max_repeats)
    if not answer["split_known"]:
        return double
    both = not isinstance(base, str) and base._extend is not None
    needed = answer["repeats_needed" if both else "candidate_repeats_needed"]
    if needed is None:
        logger.warning("no number of repeats would decide the gate: %s", answer["sentence"])
        return None
    return int(min(max(int(needed), double), max_repeats))


def _result(
    answer: dict[str, Any], candidate: str, baseline: str, looks: int, on_inconclusive: Inconclusive
) -> GateResult:
    decision, difference = answer["decision"], answer["difference"]
    if decision == "inconclusive" and on_inconclusive == "warn":
        logger.warning("the gate is inconclusive and passes: %s", answer["sentence"])
    interval = difference["ci"]
    return GateResult(
        decision=decision, sentence=answer["sentence"],
        passed=decision == "pass" or (decision == "inconclusive" and on_inconclusive == "warn"),
        metric=answer["metric"], margin=answer["margin"], difference=difference["estimate"],
        interval=None if interval is None else (interval[0], interval[1]), candidate=candidate, baseline=baseline,
        looks=looks, details=answer,
    )  # fmt: skip
