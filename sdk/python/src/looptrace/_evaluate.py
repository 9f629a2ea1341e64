"""evaluate: runs a task over the items of a dataset, grades the outputs, and sends the results."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ._config import resolve
from ._dataset import Dataset, by_id
from ._dataset import dataset as dataset_of
from ._dataset_items import Item, written_items
from ._eval_api import EXTENDS, EvaluationApi, EvaluationError, evaluation_api, refuse_running_loop
from ._eval_binding import Parameters, check_task
from ._eval_grade import Grader, Graders
from ._eval_origin import origin
from ._eval_result import Evaluation, read_server_scores
from ._eval_run import Runner
from ._eval_send import CaseResult, Sender
from ._init import dropped, flush, init
from ._json import to_text
from ._log import logger
from ._processor import Dropped
from ._state import state

Cases: TypeAlias = "Dataset | str | Iterable[Item | Mapping[str, Any]]"

# How long a finished eval-run may take until its summary is there.
_SUMMARY_SECONDS = 120.0
_MAX_REPEATS = 100
_MAX_METADATA = 2000
_MAX_NAME = 200


@dataclass(frozen=True)
class _Plan:
    """What is evaluated. items have ids."""

    task: Parameters
    graders: Graders
    name: str
    dataset_id: str
    revision: int
    split: str | None
    items: list[Item]
    # Whether the items are not all of the revision and split.
    selected: bool
    concurrency: int
    metadata: dict[str, str]
    primary_metric: str | None
    group_by: str | None
    branch: str | None
    commit: str | None

    def body(self, repeats: int) -> dict[str, Any]:
        """Returns the eval-run as the API takes it."""
        values: dict[str, Any] = {
            "name": self.name, "dataset_id": self.dataset_id, "revision": self.revision, "split": self.split,
            "item_ids": [item.id for item in self.items] if self.selected else None,
            "target": {"external": True}, "repeats": repeats, "graders": self.graders.of_server or None,
            "primary_metric": self.primary_metric, "group_by": self.group_by, "branch": self.branch,
            "commit": self.commit, "metadata": self.metadata or None,
        }  # fmt: skip
        return {name: value for name, value in values.items() if value is not None}


def evaluate(
    dataset: Cases,
    task: Callable[..., Any],
    *,
    graders: Sequence[Grader] = (),
    name: str | None = None,
    repeats: int = 1,
    concurrency: int = 10,
    split: str | None = None,
    revision: int | None = None,
    metadata: Mapping[str, object] | None = None,
    primary_metric: str | None = None,
    group_by: str | None = None,
    branch: str | None = None,
    commit: str | None = None,
) -> Evaluation:
    """Runs the task for every item of a dataset, grades the outputs, and keeps all of it as an eval-run.

    Each call of the task is recorded as a run. An exception of the task is a result too, and one of a grader is an
    error of its score. It calls looptrace.init if the program has not. The key needs the scopes ingest:write,
    datasets:read, evals:read and evals:write, and runs:read for costs and for graders of Looptrace that look at tool
    calls. An interrupt cancels the eval-run and keeps what is there.

    Args:
        dataset: The name or id of a dataset, a Dataset, or a list of cases: dicts with input and, if wanted, key,
            reference_output, metadata and split. Cases are written to the dataset `name` by upsert (scope
            datasets:write); one without a key gets a key made of its input.
        task: A function, plain or async. Its parameters are found by their names: members of the input, `input`,
            `reference_output`, `metadata`, `item`. Its result must be JSON, a dataclass or a pydantic model.
        graders: Functions, plain or async, with the parameters `output`, `reference_output`, `input`, `metadata`,
            `item` and `run` as far as they need them. They return True or False, a number from 0 to 1, None if they do
            not apply, a dict with score, pass and reason, or a Score. A dict is a grader of Looptrace, see
            docs/graders.md.
        name: What is evaluated. Evaluations of one name are one history. Default: the name of the task.
        repeats: How often the task runs for each item.
        concurrency: How many tasks run at once.
        split: Only items of this split.
        revision: Of the dataset. Default: the newest, or that of the Dataset.
        metadata: Of the eval-run.
        primary_metric: The score that decides whether an item is scored. Default: the first grader.
        group_by: A path in an item, such as "metadata.customer" or "input.document". Items with the same value there
            belong together and count as one cluster in intervals, and in gates of the Evaluation.
        branch: Default: that of the CI job, else of git.
        commit: Likewise.

    Raises:
        ValueError: An argument is wrong, or the task or a grader cannot be called with what there is. Nothing ran.
        DatasetError, EvaluationError: Looptrace refused, or did not answer. Nothing ran.
    """
    refuse_running_loop("evaluate")
    return asyncio.run(
        evaluate_async(
            dataset, task, graders=graders, name=name, repeats=repeats, concurrency=concurrency, split=split,
            revision=revision, metadata=metadata, primary_metric=primary_metric, group_by=group_by, branch=branch,
            commit=commit,
        )
    )  # fmt: skip


async def evaluate_async(
    dataset: Cases,
    task: Callable[..., Any],
    *,
    graders: Sequence[Grader] = (),
    name: str | None = None,
    repeats: int = 1,
    concurrency: int = 10,
    split: str | None = None,
    revision: int | None = None,
    metadata: Mapping[str, object] | None = None,
    primary_metric: str | None = None,
    group_by: str | None = None,
    branch: str | None = None,
    commit: str | None = None,
) -> Evaluation:
    """Like evaluate, for programs with a running event loop. Plain functions run in threads, async ones in the loop."""
    parameters, read = Parameters(task, "task"), Graders(graders)
    for what, value, most in (("repeats", repeats, _MAX_REPEATS), ("concurrency", concurrency, 1000)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{what}={value!r} is not a number from 1 to {most}")
    name = name or parameters.name
    if name == "<lambda>" or len(name) > _MAX_NAME:
        raise ValueError("name the evaluation: name='support-agent', at most 200 characters")
    found = origin()
    if state.running is None:
        init()

    def prepare() -> tuple[_Plan, EvaluationApi]:
        handle, items, selected = _items(dataset, name, split, revision, parameters)
        plan = _Plan(
            parameters, read, name, handle.id, handle.revision, None if selected else split, items, selected,
            concurrency, {key: to_text(value, _MAX_METADATA - 64) for key, value in (metadata or {}).items()},
            primary_metric or read.first, group_by,
            branch or found.branch, commit or found.commit,
        )  # fmt: skip
        return plan, evaluation_api()

    plan, api = await asyncio.to_thread(prepare)
    return await _run(plan, api, repeats, [])


def _items(
    given: Cases, name: str, split: str | None, revision: int | None, task: Parameters
) -> tuple[Dataset, list[Item], bool]:
    """Returns the dataset at the revision, its items, and whether these are not all items."""
    if isinstance(given, Dataset | str):
        handle = _by_name(given) if isinstance(given, str) else given
        if revision is not None:
            handle = handle.at(revision)
        items = list(handle.items(split=split))
        if not items:
            where = "" if split is None else f" in the split {split}"
            raise ValueError(f"the dataset {handle.name} has no items{where} at revision {handle.revision}")
        check_task(task, items)
        return handle, items, False
    if revision is not None:
        raise ValueError("revision is that of a dataset in Looptrace, and the cases are a list: leave it out")
    written = written_items(given, {}, "upsert")
    if split is not None:
        written = [each for each in written if each.get("split") == split]
        if not written:
            raise ValueError(f"no case has the split {split}")
    _with_keys(written)
    items = [Item(**each) for each in written]
    check_task(task, items)
    handle = dataset_of(name, create=True)
    for item, item_id in zip(items, handle.upsert(written).item_ids, strict=True):
        item.id = item_id
    return handle, items, True


def _by_name(name: str) -> Dataset:
    try:
        return by_id(str(uuid.UUID(name)))
    except ValueError:
        return dataset_of(name)


def _with_keys(cases: list[dict[str, Any]]) -> None:
    """Gives cases without a key one that stays the same as long as their input does."""
    places: dict[str, int] = {}
    for place, case in enumerate(cases):
        if "key" not in case:
            text = json.dumps(case["input"], ensure_ascii=False, sort_keys=True)
            case["key"] = hashlib.sha256(text.encode()).hexdigest()[:16]
        if (other := places.setdefault(case["key"], place)) != place:
            raise ValueError(f"cases {other} and {place} have the same key, or the same input and no key: give keys")


async def _run(plan: _Plan, api: EvaluationApi, repeats: int, earlier: list[CaseResult]) -> Evaluation:
    eval_run = await asyncio.to_thread(api.create, plan.body(repeats))
    eval_run_id = str(eval_run["id"])
    config = resolve() if state.running is None else state.running.config
    lost_before = dropped()
    sender = Sender(api, eval_run_id)
    results = list(earlier)
    for result in earlier:
        sender.add(result)
    done = {(result.item.id, result.repeat) for result in earlier}
    jobs = (
        (item, repeat)
        for repeat in range(1, repeats + 1)
        for item in plan.items
        if (item.id, repeat) not in done
    )  # fmt: skip
    executor = ThreadPoolExecutor(plan.concurrency, thread_name_prefix="looptrace-task")
    runner = Runner(plan.task, plan.graders, plan.name, config, executor)

    async def work() -> None:
        for item, repeat in jobs:
            if sender.ended:
                return
            result = await asyncio.create_task(runner.run(eval_run_id, item, repeat))
            results.append(result)
            sender.add(result)

    workers = [asyncio.create_task(work()) for _ in range(plan.concurrency)]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        runner.stopping = True
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        executor.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(_cancel, api, sender, eval_run_id, url_of(api, eval_run))
        raise
    executor.shutdown(wait=False)

    async def extend(more: int) -> Evaluation:
        again = replace(plan, metadata={**plan.metadata, EXTENDS: eval_run_id})
        return await _run(again, api, more, results)

    def finish() -> Evaluation:
        return finished(
            api, sender, eval_run, results, of_server=bool(plan.graders.of_server), problems=lost_spans(lost_before),
            extend=extend,
        )  # fmt: skip

    return await asyncio.to_thread(finish)


def _cancel(api: EvaluationApi, sender: Sender, eval_run_id: str, url: str) -> None:
    sender.close()
    try:
        api.cancel(eval_run_id)
    except EvaluationError as error:
        logger.warning("the eval-run could not be cancelled and stays unfinished: %s %s", error, url)
        return
    logger.warning("the eval-run is cancelled; what was sent is kept, %d results were not sent: %s",
                   len(sender.unsent), url)  # fmt: skip


def finished(
    api: EvaluationApi,
    sender: Sender,
    eval_run: dict[str, Any],
    results: list[CaseResult],
    *,
    of_server: bool,
    problems: list[str],
    cancel: bool = False,
    extend: Callable[[int], Awaitable[Evaluation]] | None = None,
) -> Evaluation:
    """Sends what is left, finishes or cancels the eval-run, and waits for its summary. of_server says that Looptrace
    grades."""
    sender.close()
    eval_run_id = str(eval_run["id"])
    try:
        if sender.ended is None:
            eval_run = api.cancel(eval_run_id) if cancel else api.finish(eval_run_id)["eval_run"]
        eval_run = api.summarized(eval_run_id, _SUMMARY_SECONDS)
        if eval_run["summary"] is None:
            problems.append("the summary is not there yet")
        if of_server:
            read_server_scores(results, _scores_of(api, eval_run_id))
    except EvaluationError as error:
        problems.append(f"the eval-run could not be finished: {error}")
    unsent = sender.unsent
    whole = not unsent and eval_run["status"] == "succeeded"
    return Evaluation(
        eval_run, results, url=url_of(api, eval_run), unsent=unsent, problems=problems,
        extend=extend if whole else None,
    )  # fmt: skip


def url_of(api: EvaluationApi, eval_run: Mapping[str, Any]) -> str:
    return f"{api.url}/p/{eval_run['project_id']}/eval-runs/{eval_run['id']}"


def lost_spans(before: Dropped) -> list[str]:
    """Sends the spans of the runs, and says what was lost."""
    problems = []
    if not flush():
        problems.append("not all spans of the runs are sent yet: they are kept and sent until the program ends")
    if lost := sum(vars(dropped()).values()) - sum(vars(before).values()):
        problems.append(f"{lost} spans of the runs were dropped, so runs are incomplete: see looptrace.dropped()")
    return problems


def _scores_of(api: EvaluationApi, eval_run_id: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    return {
        (item["item_id"], repeat["repeat"]): repeat["result"]["scores"]
        for item in api.items(eval_run_id)
        for repeat in item["repeats"]
        if repeat["result"] is not None
    }
