"""A session of pytest with evaluations: what was collected, what came of it, and what is sent at the end."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from looptrace import (
    Dataset,
    DatasetError,
    Evaluation,
    EvaluationError,
    Item,
    Score,
    dataset,
    dropped,
    init,
)
from looptrace._dataset_items import plain
from looptrace._eval_api import evaluation_api
from looptrace._eval_binding import Parameters
from looptrace._eval_grade import Graders
from looptrace._eval_origin import origin
from looptrace._eval_send import CaseResult, Sender, TaskError
from looptrace._evaluate import finished, lost_spans
from looptrace._json import to_text

from ._case import PASS, Case, find_case, set_case

_TAG = "pytest"
_ARGUMENTS = ("name", "dataset", "repeats", "graders", "primary_metric", "group_by", "metadata")
_REPEAT = "_looptrace_repeat"
_MAX_METADATA = 1900
_START_SECONDS = 5.0


@dataclass
class Plan:
    """An evaluation: the tests of one name."""

    name: str
    dataset: str
    repeats: int
    # Graders of Looptrace.
    graders: list[dict[str, Any]]
    primary_metric: str
    group_by: str | None
    metadata: dict[str, str]
    file: str
    # All that was collected, and whether that is all there is.
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_full: bool = True
    # The keys that were selected.
    selected: list[str] = field(default_factory=list)

    def settings(self) -> tuple[Any, ...]:
        return self.dataset, self.repeats, self.graders, self.primary_metric, self.group_by, self.metadata, self.file


class Session:
    def __init__(self, *, offline: bool) -> None:
        self._offline = offline
        self._plans: dict[str, Plan] = {}
        self._spans = dropped()
        # Of workers.
        self._problems: list[str] = []
        # What the terminal shows at the end.
        self.summary: list[str] = []

    def collected(self, tests: list[pytest.Item], selected: set[pytest.Item], *, is_narrowed: bool) -> None:
        """Takes what was collected. Raises pytest.UsageError for markers that are wrong."""
        places: dict[tuple[str, str, int], str] = {}
        for test in tests:
            plan, functions = _plan(test)
            known = self._plans.setdefault(plan.name, plan)
            if known.settings() != plan.settings():
                raise pytest.UsageError(
                    f"{test.nodeid}: the evaluation {plan.name} has other arguments or is in another file elsewhere: "
                    "give the markers the same arguments, or other names"
                )
            item, repeat = _item(test)
            key = str(item["key"])
            other = places.setdefault((plan.name, key, repeat), test.nodeid)
            if other != test.nodeid:
                raise pytest.UsageError(
                    f"{test.nodeid} and {other} are both the item {key} of {plan.name}: give the parameters other ids"
                )
            known.items[key] = item
            known.is_full = known.is_full and not is_narrowed and test in selected
            if test in selected and key not in known.selected:
                known.selected.append(key)
            case = Case(plan.name, Item(**item), repeat, functions)
            set_case(test, case)
            if not self._offline:
                test.obj = case.watch(test.obj)  # type: ignore[attr-defined] # it is a function

    def start(self) -> None:
        """Raises pytest.UsageError if there is no Looptrace."""
        if self._offline:
            return
        api = evaluation_api()
        api.patience = _START_SECONDS
        try:
            api.get("/v1/me")
        except EvaluationError as error:
            self._plans.clear()
            raise pytest.UsageError(
                f"looptrace: {error}. Set LOOPTRACE_ENDPOINT and LOOPTRACE_API_KEY, or run the tests without a server: "
                "--looptrace-offline"
            ) from None
        init()

    def record(self, test: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Puts the result of the test on its report, as JSON."""
        case = find_case(test)
        if case is None or self._offline or call.when == "teardown":
            return
        body: dict[str, Any] = {"evaluation": _plan(test)[0].name, "item": case.key, "repeat": case.repeat}
        if (result := case.result(call)) is not None:
            body = {**asdict(result), **body}
        elif not report.skipped:
            return
        report.__dict__["looptrace_result"] = json.dumps(body)

    def plan(self) -> str:
        """Sends the spans, and returns what was collected, as JSON, for add_plan in another process."""
        problems = [] if self._offline else lost_spans(self._spans)
        return json.dumps({"plans": [asdict(plan) for plan in self._plans.values()], "problems": problems})

    def add_plan(self, plan: str) -> None:
        found = json.loads(plan)
        self._plans = {each["name"]: Plan(**each) for each in found["plans"]}
        self._problems += found["problems"]

    def finish(self, results: list[str], *, interrupted: bool) -> int | None:
        """Sends the results. Returns the exit status if that failed."""
        if self._offline:
            number = sum(len(plan.selected) for plan in self._plans.values())
            self.summary.append(f"offline: {number} items ran as plain tests, and nothing was recorded or sent")
            return None
        by_plan: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
        for text in results:
            result = json.loads(text)
            by_plan.setdefault(result.pop("evaluation"), {})[result["item"], result["repeat"]] = result
        status = None
        problems = self._problems + lost_spans(self._spans)
        for plan in self._plans.values():
            reported = by_plan.get(plan.name, {})
            found = [result for result in reported.values() if "output" in result]
            # A test that was not reached is missing in the eval-run, one that was skipped is not meant to be there.
            done = {result["item"] for result in found}
            skipped = {key for key, _ in reported} - done
            keys = [key for key in plan.selected if key not in skipped]
            if not found:
                self.summary.append(f"{plan.name}: no test ran, so there is no eval-run")
                continue
            try:
                evaluation = _send(plan, keys, found, interrupted=interrupted)
            except (DatasetError, EvaluationError, ValueError) as error:
                self.summary.append(f"{plan.name}: the {len(found)} results were not sent: {error}")
                status = pytest.ExitCode.INTERNAL_ERROR
                continue
            self.summary += str(evaluation).splitlines()
            if skipped:
                self.summary.append(f"{len(skipped)} items were skipped, and are not in the eval-run")
            if evaluation.unsent or evaluation.problems:
                status = pytest.ExitCode.INTERNAL_ERROR
        self.summary += problems
        return status


def _plan(test: pytest.Item) -> tuple[Plan, list[Parameters]]:
    """Returns the evaluation of a test without its items, and its graders that are functions."""
    marker = test.get_closest_marker("looptrace")
    place = test.nodeid.partition("[")[0]
    if marker is None:
        raise AssertionError(place)
    if marker.args:
        raise pytest.UsageError(f"{place}: looptrace takes arguments by name: name='…', repeats=3")
    if unknown := [name for name in marker.kwargs if name not in _ARGUMENTS]:
        raise pytest.UsageError(f"{place}: looptrace has no {', '.join(unknown)}; it has {', '.join(_ARGUMENTS)}")
    given = marker.kwargs
    try:
        graders = Graders(given.get("graders", ()))
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{place}: {error}") from None
    if any(grader.name == PASS for grader in graders.functions):
        raise pytest.UsageError(f"{place}: the score {PASS} is that of the assertions: rename the grader")
    name = given.get("name") or place
    plan = Plan(
        name, given.get("dataset") or name, given.get("repeats", 1), graders.of_server,
        given.get("primary_metric") or PASS, given.get("group_by"),
        {key: to_text(value, _MAX_METADATA) for key, value in (given.get("metadata") or {}).items()},
        test.nodeid.partition("::")[0],
    )  # fmt: skip
    return plan, graders.functions


def _item(test: pytest.Item) -> tuple[dict[str, Any], int]:
    """Returns the item of a test and the repeat. The key is the id of its parameters, else its name."""
    spec = getattr(test, "callspec", None)
    parameters = dict(spec.params) if spec is not None else {}
    repeat = parameters.pop(_REPEAT, None)
    key = spec.id if spec is not None else ""
    if repeat is not None:
        key = key.removesuffix(f"repeat{repeat}").removesuffix("-")
    try:
        values = {name: plain(name, value) for name, value in parameters.items()}
    except ValueError as error:
        raise pytest.UsageError(f"{test.nodeid}: the parameter {error}") from None
    reference, metadata = values.pop("reference_output", None), values.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise pytest.UsageError(f"{test.nodeid}: the parameter metadata must be a dict")
    item = {
        "key": key or getattr(test, "originalname", test.name), "input": values, "reference_output": reference,
        "metadata": metadata, "tags": [_TAG],
    }  # fmt: skip
    return item, repeat or 1


def _send(plan: Plan, keys: list[str], found: list[dict[str, Any]], *, interrupted: bool) -> Evaluation:
    ids = _write(plan)
    api = evaluation_api()
    source = origin()
    body = {
        "name": plan.name, "dataset_id": ids.dataset.id, "revision": ids.dataset.revision,
        "item_ids": [ids.by_key[key] for key in keys], "target": {"external": True}, "repeats": plan.repeats,
        "graders": plan.graders or None, "primary_metric": plan.primary_metric, "group_by": plan.group_by,
        "branch": source.branch, "commit": source.commit, "metadata": plan.metadata or None,
    }  # fmt: skip
    eval_run = api.create({name: value for name, value in body.items() if value is not None})
    results = [_result(plan, ids, result) for result in found]
    sender = Sender(api, str(eval_run["id"]))
    for result in results:
        sender.add(result)
    return finished(
        api, sender, eval_run, results, of_server=bool(plan.graders), problems=[], cancel=interrupted
    )  # fmt: skip


@dataclass(frozen=True)
class _Written:
    dataset: Dataset
    by_key: dict[str, str]


def _write(plan: Plan) -> _Written:
    """Writes the items: all that were collected, if that is all there is, in place of what was there."""
    written = dataset(plan.dataset, create=True)
    foreign = [item for item in written if _TAG not in item.tags]
    if foreign:
        raise ValueError(
            f"the dataset {plan.dataset} has {len(foreign)} items that do not come from pytest: name another dataset"
        )
    keys = list(plan.items) if plan.is_full else plan.selected
    items = [plan.items[key] for key in keys]
    done = written.replace(items, note=_TAG) if plan.is_full else written.upsert(items, note=_TAG)
    return _Written(written, dict(zip(keys, map(str, done.item_ids), strict=True)))


def _result(plan: Plan, ids: _Written, found: dict[str, Any]) -> CaseResult:
    key = found.pop("item")
    error, scores = found.pop("error"), found.pop("scores")
    return CaseResult(
        Item(**plan.items[key], id=ids.by_key[key]), error=None if error is None else TaskError(**error),
        scores=[Score(**score) for score in scores], **found,
    )  # fmt: skip
