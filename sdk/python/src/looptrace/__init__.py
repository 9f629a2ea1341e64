"""Records runs of AI agents in Looptrace.

    import looptrace

    looptrace.init()  # reads LOOPTRACE_API_KEY and LOOPTRACE_ENDPOINT

Programs that use LangGraph, the OpenAI Agents SDK or another supported framework need nothing else. See
docs/python-sdk.md.
"""

from __future__ import annotations

from ._context import Scope, metadata, session, tags, user
from ._dataset import Dataset, DatasetWritten, dataset
from ._dataset_api import DatasetError, DatasetNotFound
from ._dataset_items import Item
from ._decorators import agent, observe, task, tool, workflow
from ._eval_api import EvaluationError, EvaluationNotFound
from ._eval_gate import GateFailed, GateResult, gate, gate_async
from ._eval_grade import GradedRun, Score
from ._eval_result import CaseFailure, Evaluation, MeanScore
from ._eval_send import CaseResult, TaskError
from ._evaluate import evaluate, evaluate_async
from ._init import InitResult, dropped, flush, init, shutdown
from ._processor import Dropped
from ._prompt import Prompt, PromptValuesError, RenderedPrompt
from ._prompt_api import PromptError, PromptNotFound, PromptUnavailable
from ._prompt_cache import prompt, prompt_async
from ._replay_batch import (
    AttemptEnds,
    PlannedRun,
    ReplayBatch,
    ReplayBatchPart,
    ReplayBatchPlan,
    ReplayBatchResult,
    ReplayedRun,
    ReplayError,
    ReplayNotFound,
    read_replay_batch,
    replay_batch,
    replay_batch_plan,
)
from ._scores import ScoreError, score_run
from ._spans import Span, SpanScope, current_run_id, run_url, score, span
from ._version import __version__
from ._work import Work, WorkError, WorkFailure, WorkNotFound, WorkProgress, WorkWait, work

__all__ = [
    "AttemptEnds",
    "CaseFailure",
    "CaseResult",
    "Dataset",
    "DatasetError",
    "DatasetNotFound",
    "DatasetWritten",
    "Dropped",
    "Evaluation",
    "EvaluationError",
    "EvaluationNotFound",
    "GateFailed",
    "GateResult",
    "GradedRun",
    "InitResult",
    "Item",
    "MeanScore",
    "PlannedRun",
    "Prompt",
    "PromptError",
    "PromptNotFound",
    "PromptUnavailable",
    "PromptValuesError",
    "RenderedPrompt",
    "ReplayBatch",
    "ReplayBatchPart",
    "ReplayBatchPlan",
    "ReplayBatchResult",
    "ReplayError",
    "ReplayNotFound",
    "ReplayedRun",
    "Scope",
    "Score",
    "ScoreError",
    "Span",
    "SpanScope",
    "TaskError",
    "Work",
    "WorkError",
    "WorkFailure",
    "WorkNotFound",
    "WorkProgress",
    "WorkWait",
    "__version__",
    "agent",
    "current_run_id",
    "dataset",
    "dropped",
    "evaluate",
    "evaluate_async",
    "flush",
    "gate",
    "gate_async",
    "init",
    "metadata",
    "observe",
    "prompt",
    "prompt_async",
    "read_replay_batch",
    "replay_batch",
    "replay_batch_plan",
    "run_url",
    "score",
    "score_run",
    "session",
    "shutdown",
    "span",
    "tags",
    "task",
    "tool",
    "user",
    "work",
    "workflow",
]
