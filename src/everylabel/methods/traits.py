"""What a method is, said by its class: whoever plans, blends, explains or lists methods asks the class, not a list.

`traits` are what does not depend on the data. What does is asked with `Facts`, counts alone: what a fit costs, which
settings differ from the defaults, and whether the method is not for such data. To add an expert, write one file.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, dataclass_transform

from everylabel.config import merge
from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.facts import Facts, Work

Use = Literal["unused", "welcome", "needed"]

DEEP = 600  # ranks that are worth asking for: so deep there are labels without training documents
SHALLOW = 200  # of methods that rank no label without training documents, or that only put a shortlist in order


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The defaults are those of a method that learns from pairs and knows labels by their documents alone."""

    why: str = "asked for"  # one would take it as an expert, for people who read a plan
    pairs: Use = "needed"
    documents: Use = "unused"  # without labels
    reads_label_texts: bool = False
    ranks_unseen: bool = False  # labels without training documents, among the others
    label_by_label: bool = False  # learned independently of each other: a hidden label is just not ranked
    needs_texts: bool = True  # a bag of words is nothing to it
    needs_torch: bool = False
    on_one_core: float = 2.0  # times as long as on two; less: parts are serial, and two fits are faster side by side
    worth: int | None = None  # place in the order in which a plan takes experts; None: only when asked for
    worth_alone: int | None = None  # the same where there are no pairs, and one method does it all
    most_of_budget: float = 1.0  # share of the time above which it is not worth it
    least_documents: int = 0  # labelled ones, below which it learns little
    seconds: tuple[float, float] = (5e-4, 1e-6)  # to rank a document, and for each of its words besides
    better_than: str = ""  # a method in whose place it comes when there is time for it
    quick: bool = False  # tenths of a millisecond a document, in any vocabulary: a fast tagger has these alone
    weighs_words: bool = False  # knows which words of a label's text are rare, and says so as evidence
    takes_dev: bool = False  # `fit(train, dev)`: settings that are left open are chosen on a dev split
    reads_sentences: int | None = None  # place in the order of who is asked which sentence of a text is like a label

    def side_by_side(self, n_jobs: int, n_cores: int) -> bool:
        """Are so many fits faster on one core each than one after the other on all?"""
        return 1 < n_cores <= n_jobs and self.on_one_core < 2

    @property
    def needs_pairs(self) -> bool:
        return self.pairs == "needed"

    @property
    def learns_from_pairs(self) -> bool:
        return self.pairs != "unused"

    @property
    def depth(self) -> int:
        """How many ranks are worth asking for."""
        return DEEP if self.ranks_unseen else SHALLOW

    @property
    def needs(self) -> str:
        """In words: "labelled documents, label texts", or "label texts; documents help"."""
        from_pairs = {"needed": ["labelled documents"]}.get(self.pairs, [])
        from_documents = {"needed": ["documents"]}.get(self.documents, [])
        needed = (from_pairs or from_documents) + (["label texts"] if self.reads_label_texts else [])
        uses = {"documents": self.documents, "labelled documents": self.pairs}
        helping = " and ".join(name for name, use in uses.items() if use == "welcome")
        return ", ".join(needed) + (f"; {helping} help" if helping else "")


BAGS_OF_WORDS = Traits(label_by_label=True, needs_texts=False)
PAIRS_AND_TEXTS = Traits(reads_label_texts=True, ranks_unseen=True)
TEXTS_ONLY = replace(PAIRS_AND_TEXTS, pairs="unused", documents="welcome")


class Described:
    """What a method's class says of itself; `Method` is one."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""  # one line, for a list of methods
    traits: ClassVar[Traits] = Traits()
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Settings under a name: "paper" as a paper has them for all its data, "paper:eurlex-4k" what differs from it."""

    @classmethod
    def preset(cls, name: str) -> dict[str, Any]:
        """All that a preset sets; of "paper:eurlex-4k" also what "paper" says and it does not."""
        if name not in cls.presets:
            near = difflib.get_close_matches(name, cls.presets, n=1)
            known = f"there are: {', '.join(cls.presets)}" if cls.presets else "it has none"
            hint = f"did you mean {near[0]!r}? {known}" if near else known
            raise ConfigError(f"method {cls.name!r} has no preset {name!r}; {hint}")
        general, of_data, _ = name.partition(":")
        return merge(cls.presets.get(general, {}) if of_data else {}, cls.presets[name])

    @classmethod
    def deviations(cls) -> str:
        """From the paper, also with its preset: what follows "Deviations:" in the docstring of the class, of its file,
        or of a parent. What the defaults alone do otherwise stands in the file's docstring, and not here.

        `those of `NAME``, a parent, at its beginning become what stands there; with `but "Special", "A title"` without
        the points that begin so.
        """
        for one in cls.__mro__:
            written = one.__dict__.get("__doc__") or ""
            if "Deviations:" in written:
                return _spelled_out(one, inspect.cleandoc(written).partition("Deviations:")[2].strip())
            if issubclass(one, Described) and _listed_in_file(one):
                return _listed_in_file(one)
        return ""

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        """Of one fit, on the machine that estimates were made on. Rough: what is spent is watched while fitting."""
        from everylabel.methods.facts import Work

        return Work(reading=1e-5 * facts.all_words)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        """Bytes that one fit takes at its peak, beside the data: a fifth more than was measured, or more. This is for
        encoders that read documents and label texts, and for what only counts words."""
        if cls.traits.needs_torch:
            return 9e8 + 60 * facts.kept_words + 5_500 * facts.n_labels
        return 2e8 + 60 * facts.pieces * facts.kept_words + 1_500 * facts.n_labels

    @classmethod
    def seconds_per_document(cls, facts: Facts) -> float:
        """To rank one, on the same machine."""
        least, each_word = cls.traits.seconds
        return least + each_word * facts.words

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:  # noqa: ARG003
        """What differs from the defaults for such data."""
        return {}

    @classmethod
    def with_encoder(cls, name: str) -> dict[str, Any]:
        """Settings by which it reads with this transformer, as it is; none where it has no encoder."""
        has_one = any(setting.name == "encoder" for setting in fields(cls))  # type: ignore[arg-type]
        return {"encoder": {"kind": name, "trainable": False}} if has_one and name else {}

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        """Why it is not for such data, in words; "": it is."""
        if cls.traits.needs_texts and not facts.texts:
            return "needs texts, and these documents are a bag of words"
        if cls.traits.reads_label_texts and not facts.label_texts:
            return "needs label texts, and these labels are numbers"
        if cls.traits.needs_torch and not facts.torch:
            return "needs an encoder: pip install 'everylabel[neural]'"
        if facts.n_labelled < cls.traits.least_documents:
            return f"learns little from fewer than {cls.traits.least_documents:,} labelled documents"
        return ""

    def card_parts(self) -> dict[str, list[str]]:
        """Of a fitted one, for the model's card (store/card.py): lines by title, beside what all methods have."""
        return {}

    @property
    def depth(self) -> int:
        """How many ranks are worth asking for, with these settings."""
        return self.traits.depth


def _spelled_out(cls: type, written: str) -> str:
    """What a reader of the command line sees: no reference to another place at the beginning."""
    named = re.match(r"""those of `([^`]+)`(?: but ((?:"[^"]+"[,\s]*)+))?""", written)
    parents = (one for one in cls.__mro__[1:] if named and one.__dict__.get("name") == named[1])
    parent = next(parents, None)
    if named is None or parent is None or not issubclass(parent, Described):
        return written
    referred = _without(parent.deviations(), re.findall(r'"([^"]+)"', named[2] or ""))
    rest = written[named.end() :].lstrip(" .,;:\n").removeprefix("and ")
    if not rest:
        return referred
    return f"{referred}\n{rest}" if rest.startswith("- ") else f"{referred}\n- {rest[0].upper()}{rest[1:]}"


def _without(listed: str, beginnings: list[str]) -> str:
    """The points of a list but for those that begin so."""
    points = re.split(r"\n(?=- )", listed)
    return "\n".join(point for point in points if not point.removeprefix("- ").startswith(tuple(beginnings)))


def _listed_in_file(cls: type) -> str:
    """The points below "Deviations:" in the docstring of the class's file."""
    module = sys.modules.get(cls.__module__)
    after = (getattr(module, "__doc__", None) or "").partition("\nDeviations:\n")[2]
    return "\n".join(takewhile(lambda line: line.startswith(("- ", "  ")), after.splitlines()))


C = TypeVar("C", bound=type[Described])


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def method(name: str, summary: str) -> Callable[[C], C]:
    """Makes a class of settings a method, as `@dataclass(kw_only=True)` and the two attributes do."""

    def named(cls: C) -> C:
        cls.name, cls.summary = name, summary
        dataclass(kw_only=True)(cls)
        return cls

    return named
