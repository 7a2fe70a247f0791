"""New text for the log: block YAML that every loader reads alike, whether it speaks YAML 1.1 or 1.2.

A string stands plain only when a narrow whitelist proves it safe; all else is JSON's double quotes, which
are YAML's too. Mappings are indented by two, lists by none, nothing is folded, nothing is shared by anchors.
`read.py` reads this text back without a YAML loader; a change here makes older logs slower to read, not wrong.
What every loader cannot read alike is refused: integers over 64 bits, half characters. So is a number that is not
finite where a measurement stands, since no decision may rest on it; elsewhere `.inf`, `-.inf` and `.nan` are written
as YAML spells them, because a person's own keys are kept whatever they hold, and all loaders read these alike.
Source: LOG-STORE section 5 (196 vectors in 8 loaders).
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headway.errors import RequestWrong

_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_ /.,()+@%=~-]{0,998}[A-Za-z0-9_)])?")
_WORDS = frozenset(
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"],
)
_LITERAL = re.compile(
    "(?![ \n])[\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffd\n]+",
)
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED_FIELDS = frozenset(["id", "commit", "timestamp", "primary_delta", "content_hash", "arrives_as", "wake"])
_QUOTED_ENDS = ("_id", "_ids", "_sha", "_sha256", "_hash", "_revision", "_at", "_delta")
_MEASURED_FIELDS = frozenset(["metrics", "gates", "comparisons", "gain"])
"""Below these keys stands what decisions rest on: numbers there are finite."""
_NOT_FINITE = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
_LONGEST_KEY = 1000
_DEEPEST = 100
_INT_LOW, _INT_HIGH = -(2**63), 2**64 - 1
_encode = json.JSONEncoder(ensure_ascii=False).encode
_heads: dict[str, "_Head"] = {}
Put = Callable[[str], None]


class _Refused(ValueError):
    """The value has no form that every loader reads alike, or no place where it stands."""


class _Head(NamedTuple):
    """How a key is written, and what holds for the values under it.

    Attributes:
        text: the key.
        quoted: whether text under it always stands in quotes.
        measured: whether numbers under it, at any depth, have to be finite.
    """

    text: str
    quoted: bool
    measured: bool


def emit_mapping(row: Mapping[Any, Any], indent: int = 0) -> str:
    """Write a mapping as block YAML.

    Args:
        row: plain data: mappings, lists, strings, numbers, booleans, None; keys in the order wanted.
        indent: the column of its keys, in blanks.
    Returns: the text, with a line end; `{}` when the mapping is empty.
    Raises: RequestWrong, for what loaders would read differently: an integer over 64 bits, a lone surrogate, any
        other kind of object; and for a number that is not finite as a key, or under `metrics`, `gates`,
        `comparisons` or `gain`.
    Source: LOG-STORE section 5.
    """
    pad = " " * indent
    if not row:
        return f"{pad}{{}}\n"
    parts: list[str] = []
    with _Located(row):
        _mapping(row, pad, pad, False, parts.append)
    return "".join(parts)


def emit_section(name: str, value: Any, indent: int = 0) -> str:
    """Write one key of a mapping with its value; a top-level section of the log has indent 0.

    Raises: RequestWrong, as `emit_mapping`.
    """
    return emit_mapping({name: value}, indent)


def emit_entry(row: Mapping[str, Any], indent: int = 0) -> str:
    """Write one experiment's row as an item of a block list.

    Args:
        row: the row, keys in the order wanted.
        indent: the column of the dash, in blanks.
    Raises: RequestWrong, as `emit_mapping`.
    """
    pad = " " * indent
    if not row:
        return f"{pad}- {{}}\n"
    parts: list[str] = []
    with _Located(row):
        _mapping(row, f"{pad}  ", f"{pad}- ", False, parts.append)
    return "".join(parts)


def _mapping(row: Mapping[Any, Any], pad: str, lead: str, measured: bool, put: Put) -> None:
    """Write the pairs at column `len(pad)`; the first line begins with `lead` instead of `pad`."""
    if len(pad) > 2 * _DEEPEST:
        raise _Refused(f"is nested deeper than {_DEEPEST}")
    for key, value in row.items():
        known = _heads.get(key) if type(key) is str else None
        head, quoted, measures = known or _head(key)
        start = lead + head + ":" if len(head) <= _LONGEST_KEY else f"{lead}? {head}\n{pad}:"
        _value(start, value, pad, quoted, measured or measures, put)
        lead = pad


def _sequence(items: list[Any] | tuple[Any, ...], pad: str, lead: str, quoted: bool, measured: bool, put: Put) -> None:
    if len(pad) > 2 * _DEEPEST:
        raise _Refused(f"is nested deeper than {_DEEPEST}")
    deeper = f"{pad}  "
    for item in items:
        if item and isinstance(item, Mapping):
            _mapping(item, deeper, f"{lead}- ", measured, put)
        elif item and isinstance(item, (list, tuple)):
            _sequence(item, deeper, f"{lead}- ", quoted, measured, put)
        else:
            _value(f"{lead}-", item, pad, quoted, measured, put)
        lead = pad


def _value(start: str, value: Any, pad: str, quoted: bool, measured: bool, put: Put) -> None:
    kind = type(value)
    if kind is float:
        put(f"{start} {_float(value, measured)}\n")
    elif isinstance(value, str):
        put(f"{start} {_literal(value, pad) or _text(value, quoted)}\n")
    elif isinstance(value, Mapping):
        if value:
            put(f"{start}\n")
            _mapping(value, f"{pad}  ", f"{pad}  ", measured, put)
        else:
            put(f"{start} {{}}\n")
    elif isinstance(value, (list, tuple)):
        if value:
            put(f"{start}\n")
            _sequence(value, pad, pad, quoted, measured, put)
        else:
            put(f"{start} []\n")
    else:
        put(f"{start} {_atom(value, measured)}\n")


def _atom(value: Any, measured: bool) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        if not _INT_LOW <= value <= _INT_HIGH:
            raise _Refused("is an integer over 64 bits, which some loaders misread; write it as text")
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value, measured)
    raise _Refused(f"is a {type(value).__name__}, which YAML has no plain form for")


def _float(value: float, measured: bool) -> str:
    text = float.__repr__(value)
    if "e" not in text:
        if text[-1] in "fn":  # inf, -inf, nan
            if measured:
                raise _Refused("is not a finite number")
            return _NOT_FINITE[text]
        return text
    mantissa, exponent = text.split("e")
    if "." not in mantissa:
        mantissa += ".0"  # YAML 1.1 knows a float by its dot and by the exponent's sign
    return f"{mantissa}e{exponent}" if exponent[0] in "+-" else f"{mantissa}e+{exponent}"


def _text(text: str, quoted: bool) -> str:
    if not quoted and _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    written = _encode(text)
    if text.isascii() and "\x7f" not in text:
        return written
    if _SURROGATE.search(text):
        raise _Refused("holds half a character (a lone surrogate), which no file can store")
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def _literal(text: str, pad: str) -> str | None:
    """The text as a literal block; None where that would not be exact, or the text is one line."""
    if "\n" not in text or not _LITERAL.fullmatch(text):
        return None
    lines = text.split("\n")
    ends = lines[-1] == ""
    if ends:
        lines.pop()
    if (len(lines) < 2 and not ends) or lines[-1].strip() == "":
        return None
    deeper = f"\n{pad}  "
    body = "".join(deeper + line if line else "\n" for line in lines)
    return f"|{body}" if ends else f"|-{body}"


def _head(key: Any) -> _Head:
    if not isinstance(key, str):
        return _Head(_atom(key, measured=True), False, False)
    found = _Head(
        _text(key, quoted=False), key in _QUOTED_FIELDS or key.endswith(_QUOTED_ENDS), key in _MEASURED_FIELDS
    )
    if type(key) is str and len(_heads) < 4096 and len(key) < 100:
        _heads[key] = found
    return found


class _Located:
    """Turns a refusal into an error that names the field; the search costs only when there is one."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _Refused):
            path = ".".join(_path_of_refusal(self._root)) or "(the whole)"
            raise RequestWrong(
                f"`{path}` cannot be written to the log: it {error}", path, "change that value"
            ) from error


def _path_of_refusal(value: Any, measured: bool = False, depth: int = 0) -> list[str]:
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, (list, tuple)):
        pairs = [(f"[{index}]", item) for index, item in enumerate(value)]
    for key, item in pairs if depth < _DEEPEST else []:
        name = ascii(key)[1:-1] if isinstance(key, str) else repr(key)
        below = measured
        try:
            if isinstance(value, Mapping):
                below = measured or _head(key).measured
            if not isinstance(item, (Mapping, list, tuple)):
                _value("", item, "", False, below, lambda _: None)
        except _Refused:
            return [name]
        deeper = _path_of_refusal(item, below, depth + 1)
        if deeper:
            return [name, *deeper]
    return []
