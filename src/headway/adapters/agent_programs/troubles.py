"""What keeps a turn from its end, from an HTTP status or from a program's words about one."""

import re
from typing import Final

from headway.adapters.agent_programs.said import Complaint
from headway.core.agent_turns import Trouble

CODE: Final = re.compile(r"(?:status(?: code)?|code|rejected|error)\W{0,4}(?:is |was )?\(?(\d{3})\b", re.IGNORECASE)
UNREACHED: Final = re.compile(
    r"connection (?:failed|refused|error|reset)|unable to connect|could not connect|fetch failed|ECONN|ENOTFOUND|"
    r"network|EAI_AGAIN|timed? ?out|disconnected|terminated|high demand|overloaded|temporarily|malformed response|"
    r"stream closed",
    re.IGNORECASE,
)
LIMITED: Final = re.compile(r"rate.?limit|usage limit|hit your (?:\w+ )?limit|too many requests|quota", re.IGNORECASE)
NO_LOGIN: Final = re.compile(
    r"invalid.{0,8}api.?key|invalid auth|not logged in|please run /login|log ?in again|authenticat|unauthorized|"
    r"api key (?:is )?(?:missing|required|not)|no api key|credit balance",
    re.IGNORECASE,
)
NOTICE: Final = re.compile(
    r"\W*(?:API Error\b|.{0,40}\b(?:usage|rate|session|weekly|hour) limit (?:reached|exceeded)|"
    r"you.ve hit your (?:\w+ )?limit)",
    re.IGNORECASE,
)
LONGEST_NOTICE: Final = 400
LONGEST_WORDS: Final = 500


def trouble_of_code(code: int) -> Trouble:
    """Give the trouble that an HTTP status of a model's service is."""
    if code in (401, 402, 403):
        return Trouble.AUTH
    if code == 429:
        return Trouble.RATE_LIMITED
    return Trouble.BAD_REQUEST if 400 <= code < 500 and code not in (408, 409) else Trouble.UNAVAILABLE


def code_in(words: str) -> int | None:
    """Give the HTTP status of an error that a message tells of; None where it tells of none."""
    codes = [int(found) for found in CODE.findall(words)]
    return next((code for code in codes if 400 <= code < 600), None)


def trouble_in(words: str) -> Trouble | None:
    """Give the trouble that a program's error message tells of; None where it tells of none that is known."""
    code = code_in(words)
    if code is not None:
        return trouble_of_code(code)
    for pattern, trouble in (
        (LIMITED, Trouble.RATE_LIMITED),
        (NO_LOGIN, Trouble.AUTH),
        (UNREACHED, Trouble.UNAVAILABLE),
    ):
        if pattern.search(words):
            return trouble
    return None


def trouble_in_place_of_an_answer(answer: str) -> Trouble | None:
    """Give the trouble where a whole answer is nothing but a notice of one; None for every other answer.

    Some programs end well with the notice of a limit as their answer (BR-83). An answer that speaks of limits among
    other things is none: it has to begin with the notice, and to be short.
    """
    if len(answer) > LONGEST_NOTICE or not NOTICE.match(answer.strip()):
        return None
    return trouble_in(answer) or Trouble.UNAVAILABLE


def complaint_of(words: str, code: int | None = None, otherwise: Trouble = Trouble.UNAVAILABLE) -> Complaint:
    """Give the complaint that an error message is.

    Args:
        words: the message.
        code: HTTP status, where the program says it apart.
        otherwise: the trouble where neither tells.
    """
    trouble = trouble_of_code(code) if code is not None and code >= 400 else trouble_in(words)
    return Complaint(trouble or otherwise, " ".join(words.split())[:LONGEST_WORDS])
