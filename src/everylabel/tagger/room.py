"""Which experts there is memory for, and which of them may have their fits side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from everylabel.errors import ConfigError
from everylabel.memory import spoken_bytes
from everylabel.methods.facts import Facts
from everylabel.registry import method_class
from everylabel.tagger.choice import Choice, cost


def peak_of(choices: Iterable[Choice]) -> float:
    """Bytes that fits take in any order, one expert after the other: the largest at its peak, and the models of the
    others. Of one that would come in the place of another the larger counts."""
    places: dict[str, tuple[float, float]] = {}
    for choice in choices:
        place = method_class(choice.name).traits.better_than or choice.name
        kept, beyond = places.get(place, (0.0, 0.0))
        places[place] = max(choice.kept, kept), max(choice.memory - choice.kept, beyond)
    return sum(kept for kept, _ in places.values()) + max((beyond for _, beyond in places.values()), default=0.0)


def too_large_of(able: Sequence[Choice], facts: Facts) -> dict[str, str]:
    """Those that do not fit beside the ones that are worth more, one fit at a time, and why. With more memory the first
    one that makes a difference is there."""
    fitting, found = list[Choice](), dict[str, str]()
    for choice in able:
        alone = replace(choice, memory=choice.memory / choice.at_once, at_once=1)
        needed = peak_of([*fitting, alone])
        if needed > facts.memory:
            found[choice.name] = f"needs about {spoken_bytes(needed)}, {spoken_bytes(facts.memory)} are there"
        else:
            fitting.append(alone)
    return found


def in_turn_without_room(able: Sequence[Choice], facts: Facts, rehearsal: str) -> list[Choice]:
    """Where fits side by side do not fit beside the models of all others, they are made one after the other. It does
    not depend on who comes into the plan, so that more memory never means more time."""
    models = sum(choice.kept for choice in able)
    return [
        choice
        if choice.at_once == 1 or models + choice.memory - choice.kept <= facts.memory
        else replace(
            choice,
            memory=choice.memory / choice.at_once,
            at_once=1,
            seconds=round(cost(method_class(choice.name), facts, rehearsal, in_turn=True), 1),
        )
        for choice in able
    ]


def no_memory(able: Sequence[Choice], facts: Facts) -> ConfigError:
    needed = {choice.name: choice.memory / choice.at_once for choice in able}
    least = min(needed, key=lambda name: needed[name])
    return ConfigError(
        f"no expert fits into {spoken_bytes(facts.memory)}: {least} needs about {spoken_bytes(needed[least])}, and "
        "the others more; give the fit more memory (--memory)"
    )
