"""A pytest plugin: tests with the marker `looptrace` become evaluations. See docs/evaluation.md.

It imports looptrace only if there are such tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ._case import Case
    from ._session import Session

_MARKER = (
    "looptrace(name=None, dataset=None, repeats=1, graders=(), primary_metric=None, group_by=None, metadata=None): the "
    "test is an evaluation, and its parameters are the items"
)
_REPEAT = "_looptrace_repeat"
_MAX_REPEATS = 100
_SESSION: pytest.StashKey[Session] = pytest.StashKey()
_RESULTS: pytest.StashKey[_Results] = pytest.StashKey()
_ON, _OFF = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("looptrace").addoption(
        "--looptrace-offline",
        action="store_true",
        help="run tests with the marker looptrace as plain tests, without a server (or LOOPTRACE_OFFLINE=1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.stash[_RESULTS] = _Results()
    config.pluginmanager.register(config.stash[_RESULTS])


@pytest.fixture
def looptrace_case(request: pytest.FixtureRequest) -> Case:
    """The item and repeat that the test runs for. Its output and scores are set here."""
    from ._case import case_of

    return case_of(request.node)


@pytest.fixture
def _looptrace_repeat(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test of each repeat. It comes last, so that the ids of the items come first."""
    marker = metafunc.definition.get_closest_marker("looptrace")
    repeats = 1 if marker is None else marker.kwargs.get("repeats", 1)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= _MAX_REPEATS:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: looptrace(repeats={repeats!r}) is not a number from 1 to {_MAX_REPEATS}"
        )
    if repeats > 1:
        metafunc.fixturenames.append(_REPEAT)
        metafunc.parametrize(
            _REPEAT, range(1, repeats + 1), indirect=True, ids=[f"repeat{number}" for number in range(1, repeats + 1)]
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:  # fmt: skip
    collected = [item for item in items if item.get_closest_marker("looptrace")]
    result = yield
    if collected:
        session = _session_of(config)
        session.collected(collected, set(items), is_narrowed=any("::" in argument for argument in config.args))
    return result


def _session_of(config: pytest.Config) -> Session:
    from ._session import Session

    if _SESSION not in config.stash:
        config.stash[_SESSION] = Session(offline=_is_offline(config))
    return config.stash[_SESSION]


def _is_offline(config: pytest.Config) -> bool:
    value = os.environ.get("LOOPTRACE_OFFLINE", "").strip().lower()
    if value not in _ON | _OFF:
        raise pytest.UsageError(f"LOOPTRACE_OFFLINE={value!r} is neither 1 nor 0")
    return bool(config.getoption("--looptrace-offline")) or value in _ON


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    found = session.config.stash.get(_SESSION, None)
    if found is not None and not session.config.option.collectonly and not session.testsfailed:
        found.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    found = item.config.stash.get(_SESSION, None)
    if found is not None:
        found.record(item, call, report)
    return report


class _Results:
    """The results of the reports, as JSON. With pytest-xdist, the controller has those of all workers."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (result := getattr(report, "looptrace_result", None)) is not None:
            self.found.append(result)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config: Any = session.config
    found = config.stash.get(_SESSION, None)
    if hasattr(config, "workeroutput"):
        if found is not None:
            config.workeroutput["looptrace_plan"] = found.plan()
        return
    if found is None or session.config.option.collectonly:
        return
    interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
    exit_status = found.finish(config.stash[_RESULTS].found, interrupted=interrupted)
    if exit_status is not None:
        session.exitstatus = exit_status


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist ended."""
    plan = getattr(node, "workeroutput", {}).get("looptrace_plan")
    if plan is not None:
        _session_of(node.config).add_plan(plan)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(_SESSION, None)
    if found is None or config.option.collectonly:
        return
    terminalreporter.section("looptrace")
    for line in found.summary:
        terminalreporter.write_line(line)
