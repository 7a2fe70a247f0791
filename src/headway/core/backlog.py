"""The backlog: which hypotheses may run, in which order, and what comes back to it.

Source: DESIGN section 6 (diverse categories, then priority); CONTRACTS sections 2 and 6.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence

from headway.core.records import BacklogItem, DepStatus, Priority

RANK = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}


def dep_status(required: Iterable[str], approved: Collection[str]) -> DepStatus:
    """Say what a hypothesis' dependencies amount to: none, all approved, or some that need approval."""
    needed = list(required)
    if not needed:
        return DepStatus.NOT_APPLICABLE
    return DepStatus.APPROVED if all(name in approved for name in needed) else DepStatus.NEEDS_APPROVAL


def is_runnable(item: BacklogItem, approved: Collection[str]) -> bool:
    """Say whether a hypothesis may run now: only `approved` and `not_applicable` may."""
    status = item.dep_status or dep_status(item.required_deps or (), approved)
    if status == DepStatus.NEEDS_APPROVAL:
        return bool(item.required_deps) and all(name in approved for name in item.required_deps or ())
    return True


def choose_batch(backlog: Sequence[BacklogItem], room: int, approved: Collection[str]) -> tuple[BacklogItem, ...]:
    """Choose the next batch: a category is not taken twice while another waits, then the higher priority first.

    Args:
        backlog: what waits, in its order; an item that comes back (`retry_of`) stands at the head and goes first.
        room: how many may run at once, at least 1.
        approved: names of approved dependencies.
    Returns: at most `room` runnable items, in the order in which they get their numbers.
    """
    waiting = [item for item in backlog if is_runnable(item, approved)]
    order = sorted(range(len(waiting)), key=lambda i: (not _comes_back(waiting[i]), RANK[_priority(waiting[i])], i))
    chosen: list[BacklogItem] = []
    while order and len(chosen) < room:
        used = {item.category for item in chosen}
        fresh = next((i for i in order if waiting[i].category not in used), order[0])
        order.remove(fresh)
        chosen.append(waiting[fresh])
    return tuple(chosen)


def _comes_back(item: BacklogItem) -> bool:
    return bool(item.headway and item.headway.retry_of is not None)


def _priority(item: BacklogItem) -> Priority:
    return Priority(item.priority) if item.priority else Priority.MEDIUM


def deferred(backlog: Sequence[BacklogItem], approved: Collection[str]) -> tuple[BacklogItem, ...]:
    """Give the hypotheses that wait for a dependency's approval."""
    return tuple(item for item in backlog if not is_runnable(item, approved))


def hypothesis_id(description: str, payload: str = "") -> str:
    """Give a hypothesis' id: the same text (case and spaces aside) and payload have the same one."""
    normal = " ".join(description.lower().split())
    return "h-" + hashlib.sha256(f"{normal}\0{payload}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def without(backlog: Sequence[BacklogItem], item: BacklogItem) -> tuple[BacklogItem, ...]:
    """Give the backlog less one item, told by its id, else by its whole content."""
    for i, other in enumerate(backlog):
        if _same(other, item):
            return (*backlog[:i], *backlog[i + 1 :])
    return tuple(backlog)


def _same(a: BacklogItem, b: BacklogItem) -> bool:
    if a.headway and b.headway and a.headway.id and b.headway.id:
        return a.headway.id == b.headway.id and a.headway.retry_of == b.headway.retry_of
    return a.description == b.description and a.category == b.category
