"""Two stores held against each other on a random walk: the same answers, the same reads, and both can be true.

One seed gives one walk. When the stores disagree, the walk is shortened to the few calls that are needed and printed as
lines that `replay` reads, so that a failure in continuous integration is a test case at the desk.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random  # noqa: TID251 - a seeded generator is what a walk is made of
from typing import Final, cast, get_args

from actum.base.errors import ActumError, StoreUnavailable
from actum.base.value import Value, dump, load, replace
from actum.lifecycle import commands as c
from actum.storage.contract import OwnedStore
from actum.testing.faults import Fault, FaultyBackend
from actum.testing.history import findings, outcome, read_everything
from actum.testing.walk import Read, Step, Walk

_COMMANDS: Final[dict[str, type[Value]]] = {kind.__name__: kind for kind in get_args(c.Command)}
_SHORTENING_TRIES: Final = 400


@dataclass(frozen=True, slots=True)
class Pair:
    """Two empty stores that must not differ. Faults meet the second one only, when its backend can fail on cue."""

    first: OwnedStore
    second: OwnedStore
    faulty: FaultyBackend | None = None


Pairs = Callable[[], AbstractAsyncContextManager[Pair]]


class Disagreement(AssertionError):
    """Two stores answered one walk differently, or one of them keeps what cannot be true."""


async def walk_together(seed: int, length: int, pairs: Pairs) -> None:
    """Walks `length` steps with a fresh pair. Raises Disagreement with the seed and a short trace."""
    steps: list[Step] = []
    async with pairs() as pair:
        chance = Random(seed)  # noqa: S311 - a walk is to be repeated, not to be secret
        walk = Walk(chance, faults=pair.faulty is not None)
        difference = None
        while difference is None and len(steps) < length:
            step = walk.step()
            steps.append(step)
            answer, difference = await _both(pair, step)
            walk.learn(answer)
        difference = difference or await _compared(pair)
    if difference is not None:
        short, difference = await _shortened(steps, difference, pairs)
        trace = "\n".join(map(_line, short))
        raise Disagreement(f"seed {seed}, {len(short)} of {len(steps)} steps: {difference}\n{trace}")


async def replay(trace: str, pairs: Pairs) -> None:
    """Walks the steps of a printed trace with a fresh pair. Raises Disagreement as `walk_together` does."""
    difference = await _replayed([_step(line) for line in trace.splitlines() if line.strip()], pairs)
    if difference is not None:
        raise Disagreement(difference)


async def _replayed(steps: list[Step], pairs: Pairs) -> str | None:
    async with pairs() as pair:
        for step in steps:
            _, difference = await _both(pair, step)
            if difference is not None:
                return difference
        return await _compared(pair)


async def _shortened(steps: list[Step], difference: str, pairs: Pairs) -> tuple[list[Step], str]:
    """Leaves out halves, quarters and so on down to single steps, as long as some disagreement stays."""
    size, tries = len(steps) // 2, 0
    while size and tries < _SHORTENING_TRIES:
        start, removed = 0, False
        while start < len(steps) and tries < _SHORTENING_TRIES:
            fewer = steps[:start] + steps[start + size :]
            tries += 1
            still = await _replayed(fewer, pairs)
            if still is None:
                start += size
            else:
                steps, difference, removed = fewer, still, True
        size = size if removed and size == 1 else size // 2
    return steps, difference


async def _both(pair: Pair, step: Step) -> tuple[object, str | None]:
    """The first store's answer, and how the second one's differs."""
    first = await _answer(pair.first, step)
    if step.fault is not None and pair.faulty is not None:
        pair.faulty.fail(step.fault)
    second = await _answer(pair.second, step)
    if isinstance(second, StoreUnavailable) and step.fault is not None:
        # What a caller does who cannot know how far its command came.
        second = await _answer(pair.second, step)
    elif step.fault is not None and pair.faulty is not None:
        pair.faulty.forget()
    told, also = _told(first, step), _told(second, step)
    return first, None if told == also else f"{_line(step)}\n  first: {first!r}\n  second: {second!r}"


async def _answer(store: OwnedStore, step: Step) -> object:
    seen = store if step.tenant is None else store.bound(step.tenant)
    if isinstance(step.call, Read):
        return await outcome(getattr(seen, step.call.name)(**step.call.given))
    # A union of operations has a union of answers, which the type of `execute` cannot say.
    return await outcome(seen.execute(cast("c.Operation[c.Result]", step.call)))


def _told(answer: object, step: Step) -> object:
    """What two stores must agree on: values to the last field, errors by code and fields."""
    if isinstance(answer, ActumError):
        given = answer.fields()
        if isinstance(step.call, c.PurgeSession | c.PurgeOneShot):
            # Which of several running runs holds a scope is nobody's promise.
            given.pop("run_id", None)
        return answer.code, given
    if step.fault is None:
        return answer
    match answer:
        case tuple():
            return tuple(replace(each, inserted=False) for each in answer)
        case c.Started():
            proofs = {name: getattr(answer, name) for name in ("started", "linked", "canceled")}
            again = {name: replace(each, inserted=False) for name, each in proofs.items() if each is not None}
            return replace(answer, **again, records=_old(answer.records))
        case c.Changed():
            return replace(answer, record=replace(answer.record, inserted=False), records=_old(answer.records))
        case c.Repaired(result=c.RepairResult.STORED, record=c.Appended() as record):
            repeated = c.RepairResult.ALREADY_STORED
            return replace(
                answer, result=repeated, record=replace(record, inserted=False), records=_old(answer.records)
            )
        case _:
            return answer


def _old(records: tuple[c.Appended, ...]) -> tuple[c.Appended, ...]:
    return tuple(replace(each, inserted=False) for each in records)


async def _compared(pair: Pair) -> str | None:
    """How the two stores differ in all that they show, to the host and to each tenant."""
    for tenant in (None, "acme", "other"):
        kept = []
        for store in (pair.first, pair.second):
            seen = store if tenant is None else store.bound(tenant)
            kept.append(await read_everything(seen))
        if kept[0] != kept[1]:
            return f"the stores show {tenant or 'their host'} different things:\n  {kept[0]}\n  {kept[1]}"
        found = findings(kept[0])
        if found:
            return "both stores keep what cannot be true: " + "; ".join(found)
    return None


def _line(step: Step) -> str:
    said: dict[str, object] = {}
    if isinstance(step.call, Read):
        said |= {"read": step.call.name, "given": step.call.given}
    else:
        said |= {"do": type(step.call).__name__, "given": json.loads(dump(step.call))}
    if step.tenant is not None:
        said["tenant"] = step.tenant
    if step.fault is not None:
        said["fault"] = step.fault.name
    return json.dumps(said)


def _step(line: str) -> Step:
    said = json.loads(line)
    fault = Fault[said["fault"]] if "fault" in said else None
    if "read" in said:
        return Step(Read(said["read"], said["given"]), said.get("tenant"), fault)
    command = load(_COMMANDS[said["do"]], json.dumps(said["given"]).encode())
    return Step(cast("c.Command", command), said.get("tenant"), fault)
