"""How a plan grows with its budget: experts come in one after the other, so that more time never means fewer of them.

The order in which they come in does not depend on the budget. It is that of their worth, but that one which takes
longer than all others together comes after them, since nothing would come in while it is waited for, and that one which
may only take a part of the time (`most_of_budget`) waits until it does. One that is better than another (`better_than`)
and takes longer comes in its place later; if it takes no longer, the other is not needed at all. A budget has those
that come in before the first one for which there is no room.

Memory is no part of it: an expert that would not fit has its place in the order all the same, and is passed over, so
that more memory never means fewer experts, either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from everylabel.registry import method_class

SAFETY = 0.8  # of the budget that estimates may fill


class Step(NamedTuple):
    """An expert comes in, or takes the place of one that is not as good."""

    name: str
    instead_of: str
    more: float  # seconds that it adds
    least: float  # budget from which on it is worth it


def within(
    budget: float,
    seconds: Mapping[str, float],
    too_large: Collection[str] = (),
    later: Mapping[str, float] | None = None,
) -> set[str]:
    """The experts that there is time for, of those in the order of their worth, with their times; always one.
    `too_large`: those for which there is no memory, however much time there is. `later`: seconds more for want of
    memory, which change who there is time for and not the order."""
    spent, there = 0.0, set[str]()
    for step in steps(seconds, too_large):
        more = step.more + (later or {}).get(step.name, 0.0)
        if there and (step.least > budget or spent + more > SAFETY * budget):
            break
        spent += max(more, 0.0)
        if step.name in too_large:
            continue
        there.add(step.name)
        there.discard(step.instead_of)
    return there


def steps(seconds: Mapping[str, float], too_large: Collection[str] = ()) -> list[Step]:
    """In the order of the least budget; equal ones in the order of their worth. What is too large makes no other one
    needless. O(n log n)."""
    traits = {name: method_class(name).traits for name in seconds}
    worse = {name: own.better_than for name, own in traits.items() if own.better_than in seconds}
    needless = {other for name, other in worse.items() if seconds[other] >= seconds[name] and name not in too_large}
    later = {name: other for name, other in worse.items() if other not in needless and other not in worse}
    # of one that is better than another which is not there, nobody else could do the work: it need not wait
    parts = {name: own.most_of_budget if not own.better_than else 1.0 for name, own in traits.items()}
    usual = {name: own for name, own in seconds.items() if name not in needless and name not in later}
    found, with_all_before, total = [], dict[str, float](), 0.0
    for name in _dearest_last(usual, parts):
        total = with_all_before[name] = total + usual[name]
        found.append(Step(name, "", usual[name], max(total / SAFETY, usual[name] / parts[name])))
    for name, other in later.items():
        own, more = seconds[name], seconds[name] - seconds[other]
        least = max((with_all_before[other] + more) / SAFETY, own / traits[name].most_of_budget)
        found.append(Step(name, other, more, least))
    return sorted(found, key=lambda step: step.least)


def _dearest_last(seconds: Mapping[str, float], parts: Mapping[str, float]) -> list[str]:
    """In the order given, but for those that take longer than all that come before them together; never the first."""
    waiting = [name for name in seconds if parts[name] < 1]
    order, dear = [name for name in seconds if parts[name] == 1], list[str]()
    total = sum(seconds[name] for name in order)
    while len(order) > 1:
        dearest = max(order[1:], key=lambda name: seconds[name])
        if 2 * seconds[dearest] <= total:
            break
        order.remove(dearest)
        dear.insert(0, dearest)
        total -= seconds[dearest]
    return [*order, *dear, *waiting]
