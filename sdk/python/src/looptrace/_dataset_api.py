"""The requests for datasets: /v1/datasets."""

from __future__ import annotations

from types import MappingProxyType

from ._api import Api, ApiError


class DatasetError(ApiError):
    """A dataset could not be read or written. status is the HTTP status, or None without a response. code is that of
    the API, such as stale_base_revision, too_many_removed or name_taken."""


class DatasetNotFound(DatasetError):  # noqa: N818 - says what it is
    """The project has no such dataset or revision."""


class DatasetApi(Api):
    error = DatasetError
    not_found = DatasetNotFound
    scopes = MappingProxyType({"GET": "the scope datasets:read", "POST": "the scope datasets:write"})
    uncertain = "it may have been written: compare the dataset's newest revision"
