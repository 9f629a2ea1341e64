"""The branch and commit of a program: from the variables of GitHub Actions or GitLab CI, else from git."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GIT_SECONDS = 5.0


@dataclass(frozen=True)
class Origin:
    # None if it is not known.
    branch: str | None
    commit: str | None


def origin() -> Origin:
    return Origin(branch=_branch(), commit=_variable("GITHUB_SHA", "CI_COMMIT_SHA") or _git("rev-parse", "HEAD"))


def base_branch() -> str:
    """Returns the branch that a change is meant for."""
    return _variable("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME") or "main"


def _branch() -> str | None:
    if head := _variable("GITHUB_HEAD_REF"):
        return _of_fork(_github_fork(), head)
    if name := _variable("GITHUB_REF_NAME"):
        return None if _variable("GITHUB_REF_TYPE") == "tag" else name
    if head := _variable("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"):
        source, own = _variable("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"), _variable("CI_MERGE_REQUEST_PROJECT_PATH")
        return _of_fork(source if source != own else None, head)
    if name := _variable("CI_COMMIT_BRANCH"):
        return name
    return None if _variable("CI_COMMIT_TAG") else _git("symbolic-ref", "--short", "-q", "HEAD")


def _of_fork(repository: str | None, branch: str) -> str:
    """Returns the name of a branch. That of a fork must not be taken for the branch of the same name here, such as
    main."""
    return f"{repository}:{branch}" if repository else branch


def _github_fork() -> str | None:
    """Returns the repository of a pull request's branch if it is another one."""
    path, own = _variable("GITHUB_EVENT_PATH"), _variable("GITHUB_REPOSITORY")
    try:
        event: Any = json.loads(Path(path or "").read_bytes())
        name = event["pull_request"]["head"]["repo"]["full_name"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(name) if name != own else None


def _variable(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            capture_output=True, text=True, timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
