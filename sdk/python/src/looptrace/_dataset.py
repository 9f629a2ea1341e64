"""Datasets: reading the items of a revision, and writing a new one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ._api import encoded
from ._config import resolve
from ._dataset_api import DatasetApi, DatasetError, DatasetNotFound
from ._dataset_items import Columns, Item, Items, item_of, too_many, written_items
from ._state import state

Mode: TypeAlias = Literal["append", "upsert", "replace"]

_PAGE = 500
# The API takes no larger request.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class DatasetWritten:
    """What a write changed, or with dry_run would change."""

    # The newest revision afterwards.
    revision: int
    added: int
    updated: int
    removed: int
    # Items that were the same already, or that dedupe left out.
    unchanged: int
    # In the order of the given items. None for one that a dry run would add.
    item_ids: list[str | None]


class Dataset:
    """A dataset at a revision. `for item in dataset` gives the items of this revision, also while others write.

    A write goes to the newest revision, and this object is then at the revision that it made."""

    def __init__(
        self, api: DatasetApi, members: dict[str, Any], revision: int, item_count: int, *, fixed: bool
    ) -> None:
        self._api, self._members, self._fixed = api, members, fixed
        self._revision = revision
        # None until it is asked for.
        self._item_count: int | None = item_count

    def __repr__(self) -> str:
        return f"<Dataset {self.name} revision={self.revision}>"

    @property
    def id(self) -> str:
        return str(self._members["id"])

    @property
    def name(self) -> str:
        return str(self._members["name"])

    @property
    def description(self) -> str:
        return str(self._members["description"])

    @property
    def revision(self) -> int:
        """The revision that this object reads. 0 is the empty one before the first write."""
        return self._revision

    @property
    def item_count(self) -> int:
        """The number of items of the revision. len() returns it too."""
        if self._item_count is None:
            self._item_count = self._count(self._revision)
        return self._item_count

    def __len__(self) -> int:
        return self.item_count

    def __bool__(self) -> bool:
        """A dataset is true also without items."""
        return True

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    def items(self, *, split: str | None = None, tag: str | None = None, search: str | None = None) -> Iterator[Item]:
        """Gives the items of the revision in the order in which they were added, and reads them page by page.

        Args:
            split: Only items of this split.
            tag: Only items with this tag.
            search: Only items with this text in key, input or reference output; case does not matter.

        Raises:
            DatasetError: A page could not be read.
        """
        revision, path = self._revision, f"/v1/datasets/{self.id}/items"
        place: dict[str, Any] = {"revision": revision}
        while True:
            page = self._api.get(path, split=split, tag=tag, search=search, limit=_PAGE, **place)
            yield from map(item_of, page["data"])
            if page["next_cursor"] is None:
                return
            # It keeps the revision.
            place = {"cursor": page["next_cursor"]}

    def at(self, revision: int) -> Dataset:
        """Returns the dataset at a revision. It stays there: it cannot be written to.

        Raises:
            DatasetNotFound: There is no such revision.
        """
        if isinstance(revision, bool) or not isinstance(revision, int) or revision < 0:
            raise ValueError(f"revision={revision!r} is not the number of a revision")
        return Dataset(self._api, self._members, revision, self._count(revision), fixed=True)

    def _count(self, revision: int) -> int:
        """Returns the number of items of a revision. The list of revisions has the newest first."""
        offset = max(self._revision - revision, 0)
        while revision > 0:
            page = self._api.get(f"/v1/datasets/{self.id}/revisions", limit=1, offset=offset)["data"]
            newest = page[0]["revision"] + offset if page else 0
            if newest < revision:
                raise DatasetNotFound(f"the dataset {self.name} has no revision {revision}: its newest is {newest}")
            if newest - offset == revision:
                return int(page[0]["item_count"])
            offset = newest - revision
        return 0

    def append(
        self,
        items: Items,
        *,
        dedupe: bool = False,
        dry_run: bool = False,
        base_revision: int | None = None,
        note: str | None = None,
        input: Columns | None = None,  # noqa: A002 - as in the API
        reference_output: Columns | None = None,
        metadata: Columns | None = None,
        key: str | None = None,
        split: str | None = None,
        tags: str | None = None,
    ) -> DatasetWritten:
        """Adds all items, in one revision. A key that exists is an error. The key needs the scope datasets:write.

        Args:
            items: Dicts with the members of an item, looptrace.Item, or a pandas.DataFrame with such columns. At most
                10,000 in 16 MiB: `looptrace import datasets` imports larger files.
            dedupe: Leave out items whose input and reference output the dataset, or an earlier item, has.
            dry_run: Write nothing, and return what the write would change.
            base_revision: The revision that was read. If it is not the newest any more, nothing is written.
            note: Why. It is kept with the revision.
            input: The columns of a frame or of dicts that make the input: a name takes the value, a list makes an
                object. Default: the column input. With any such argument, columns that no argument names and that are
                not named like a member are left out.
            reference_output: The columns of the reference output.
            metadata: The columns of the metadata.
            key: The column of the key.
            split: The column of the split.
            tags: The column of the tags, which are lists.

        Raises:
            ValueError: An item cannot be written. The message says which, and why.
            DatasetError: Looptrace refused, with code `stale_base_revision` if there is a newer revision; or it did
                not answer within half a minute.
        """
        return self._write(
            "append", items,
            {"dedupe": "content" if dedupe else None, "dry_run": dry_run or None, "base_revision": base_revision,
             "note": note},
            {"input": input, "reference_output": reference_output, "metadata": metadata, "key": key, "split": split,
             "tags": tags},
        )  # fmt: skip

    def upsert(
        self,
        items: Items,
        *,
        dedupe: bool = False,
        dry_run: bool = False,
        base_revision: int | None = None,
        note: str | None = None,
        input: Columns | None = None,  # noqa: A002 - as in the API
        reference_output: Columns | None = None,
        metadata: Columns | None = None,
        key: str | None = None,
        split: str | None = None,
        tags: str | None = None,
    ) -> DatasetWritten:
        """Updates the items whose key exists and adds the others, in one revision. Items without a key are added.

        The arguments are those of append."""
        return self._write(
            "upsert", items,
            {"dedupe": "content" if dedupe else None, "dry_run": dry_run or None, "base_revision": base_revision,
             "note": note},
            {"input": input, "reference_output": reference_output, "metadata": metadata, "key": key, "split": split,
             "tags": tags},
        )  # fmt: skip

    def replace(
        self,
        items: Items,
        *,
        max_removed: int | None = None,
        dedupe: bool = False,
        dry_run: bool = False,
        base_revision: int | None = None,
        note: str | None = None,
        input: Columns | None = None,  # noqa: A002 - as in the API
        reference_output: Columns | None = None,
        metadata: Columns | None = None,
        key: str | None = None,
        split: str | None = None,
        tags: str | None = None,
    ) -> DatasetWritten:
        """Like upsert, and removes the items that are not given. An item without a key is kept if its content is given.

        The arguments are those of append. If more than max_removed items would be removed, nothing is written, and
        DatasetError has the code `too_many_removed`."""
        return self._write(
            "replace", items,
            {"dedupe": "content" if dedupe else None, "dry_run": dry_run or None, "base_revision": base_revision,
             "note": note, "max_removed": max_removed},
            {"input": input, "reference_output": reference_output, "metadata": metadata, "key": key, "split": split,
             "tags": tags},
        )  # fmt: skip

    def _write(
        self, mode: Mode, items: Items, options: dict[str, Any], columns: dict[str, Columns | None]
    ) -> DatasetWritten:
        if self._fixed:
            raise ValueError(f"revision {self._revision} stays as it is: write to looptrace.dataset({self.name!r})")
        written = written_items(items, {name: column for name, column in columns.items() if column is not None}, mode)
        given = {name: value for name, value in options.items() if value is not None}
        body = encoded({"mode": mode, **given, "items": written})
        if len(body) > _MAX_BYTES:
            raise too_many(f"the {len(written):,} items are {len(body) / (1 << 20):.1f} MiB, more than 16 MiB")
        answer = self._api.post(f"/v1/datasets/{self.id}/items", body, [item.get("key") for item in written])
        result = DatasetWritten(**{name: answer[name] for name in DatasetWritten.__dataclass_fields__})
        if not given.get("dry_run") and result.revision != self._revision:
            if self._item_count is not None and result.revision == self._revision + 1:
                self._item_count += result.added - result.removed
            else:
                self._item_count = None
            self._revision = result.revision
        return result


def dataset(name: str, *, create: bool = False) -> Dataset:
    """Returns a dataset of the project at its newest revision.

    Without init, the environment variables apply that init reads. The key needs the scope datasets:read.

    Args:
        name: The dataset's name.
        create: Create it, empty, if there is none. The key needs the scope datasets:write too.

    Raises:
        DatasetNotFound: There is none. The message names similar ones.
        DatasetError: Looptrace refused, or did not answer within half a minute.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r} is not the name of a dataset")
    api = _api()
    found = _find(api, name)
    if found is None and create:
        found = _create(api, name)
    if found is None:
        raise DatasetNotFound(_not_found(api, name))
    return Dataset(api, found, found["revision"], found["item_count"], fixed=False)


def by_id(dataset_id: str) -> Dataset:
    """Returns the dataset with the id at its newest revision."""
    api = _api()
    found = api.get(f"/v1/datasets/{dataset_id}")
    return Dataset(api, found, found["revision"], found["item_count"], fixed=False)


def _api() -> DatasetApi:
    return DatasetApi(resolve() if state.running is None else state.running.config)


def _find(api: DatasetApi, name: str) -> dict[str, Any] | None:
    found = api.get("/v1/datasets", name=name, project_id=api.project)["data"]
    if len(found) > 1:
        raise DatasetError(f"several projects of the key have a dataset {name}: set LOOPTRACE_PROJECT to the id of one")
    return found[0] if found else None


def _create(api: DatasetApi, name: str) -> dict[str, Any] | None:
    try:
        return api.post("/v1/datasets", encoded({"project_id": api.project_id(), "name": name}))
    except DatasetError as error:
        # Somebody else was faster.
        if error.code == "name_taken":
            return _find(api, name)
        raise


def _not_found(api: DatasetApi, name: str) -> str:
    names = [each["name"] for each in api.get("/v1/datasets", project_id=api.project, limit=_PAGE)["data"]]
    by_lower = {each.lower(): each for each in names}
    near = [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"the project has no dataset {name}: {hint}dataset({name!r}, create=True) creates it"
