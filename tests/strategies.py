"""Hypothesis strategies: one for each record of the log, drawn from its model.

`rows_of(Entry)` gives parsed rows, `records_of(Entry)` the records; optional fields come and go, and unknown keys
stand among them now and then.
"""

import types
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from headway.core.records import EXTENSION, Entry, JudgeCache, JudgeCacheItem, Row, Snapshot

R = TypeVar("R", bound=Row)

TEXTS = st.text(max_size=12)
NAMES = st.text(alphabet="abcdefgh_", min_size=1, max_size=6)
TIMES = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
INTS = st.integers(min_value=-(2**53), max_value=2**53)
PLAIN = st.recursive(
    st.none() | st.booleans() | INTS | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
STRANGE = st.dictionaries(NAMES.map(lambda name: f"strange_{name}"), PLAIN, max_size=2)

_DATED = {"timestamp", "started_at", "approved_at", "phase3_started_at", "measured_at", "at"}


def rows_of(record: type[Row]) -> st.SearchStrategy[dict[str, Any]]:
    """Give rows that fit a record, every optional field absent at times, unknown keys in between."""
    if record is JudgeCache:
        return _caches()
    fields = {name: _of_field(name, field, record) for name, field in record.model_fields.items()}
    required = {name: fields[name] for name, field in record.model_fields.items() if field.is_required()}
    optional = {name: fields[name] for name in fields if name not in required}
    known = st.fixed_dictionaries(required, optional=optional)
    return st.tuples(known, STRANGE).map(lambda both: {**both[0], **both[1]})


def records_of(record: type[R]) -> st.SearchStrategy[R]:
    """Give records of one kind."""
    return rows_of(record).map(record.model_validate)


def _caches() -> st.SearchStrategy[dict[str, Any]]:
    items = st.dictionaries(NAMES, rows_of(JudgeCacheItem), max_size=2)
    header = rows_of(_inner(JudgeCache.model_fields[EXTENSION].annotation))
    return st.tuples(header, items).map(lambda both: {EXTENSION: both[0], **both[1]})


def _inner(annotation: Any) -> Any:
    return next(choice for choice in get_args(annotation) if choice is not type(None))


def _of_field(name: str, field: FieldInfo, record: type[Row]) -> st.SearchStrategy[Any]:
    annotation: Any = field.annotation
    if field.metadata:
        annotation = Annotated[(annotation, *field.metadata)]
    found = _of(annotation, is_time=name in _DATED)
    return found | st.none() if name in record.nullable else found


def _of(annotation: Any, *, is_time: bool = False) -> st.SearchStrategy[Any]:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        floor = next((mark.ge for mark in _marks(inner[1:]) if getattr(mark, "ge", None) is not None), None)
        return _bounded(inner[0], floor, is_time=is_time)
    if origin in (Union, types.UnionType):
        return st.one_of([_of(choice, is_time=is_time) for choice in inner if choice is not type(None)])
    if origin is tuple:
        return st.lists(_of(inner[0], is_time=is_time), max_size=2)
    if origin is dict:
        return st.dictionaries(_of(inner[0]) if inner[0] is not str else NAMES, _of(inner[1]), max_size=2)
    if origin is Literal:
        return st.sampled_from(inner)
    return _simple(annotation, is_time=is_time)


def _marks(metadata: tuple[Any, ...]) -> list[Any]:
    return [mark for item in metadata for mark in (item.metadata if isinstance(item, FieldInfo) else [item])]


def _bounded(annotation: Any, floor: int | None, *, is_time: bool) -> st.SearchStrategy[Any]:
    if floor is None:
        return _of(annotation, is_time=is_time)
    whole = st.integers(min_value=floor, max_value=floor + 50)
    return whole if annotation is int else whole | st.floats(min_value=floor, allow_infinity=False, allow_nan=False)


def _simple(annotation: Any, *, is_time: bool) -> st.SearchStrategy[Any]:
    if annotation is str:
        return TIMES if is_time else TEXTS
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return st.sampled_from([member.value for member in annotation])
    if isinstance(annotation, type) and issubclass(annotation, Row):
        return st.deferred(lambda: rows_of(annotation))
    return {int: INTS, float: FLOATS, bool: st.booleans(), Any: PLAIN}[annotation]


SNAPSHOTS = records_of(Snapshot)
ENTRIES = records_of(Entry)
