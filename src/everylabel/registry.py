"""The methods by name. A class is imported only when it is used; what it needs and what it is, it says itself.

A method of one's own is known after `register`, under its `name`; it can then be fitted, saved, loaded and listed as
any other, and be an expert of a tagger: by itself if its traits have a `worth`, else when it is asked for.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method

M = TypeVar("M", bound="type[Method]")

METHODS: dict[str, str | type[Method]] = {  # "module:Class", or a class that was registered
    "tagger": "everylabel.tagger.tagger:Tagger",
    "xr-linear": "everylabel.methods.words.linear:XrLinear",
    "svm": "everylabel.methods.words.linear:Svm",
    "matchxml": "everylabel.methods.matchxml.matchxml:MatchXml",
    "xr-transformer": "everylabel.methods.matchxml.matchxml:XrTransformer",
    "knn": "everylabel.methods.words.neighbours:NearestNeighbours",
    "hybrid": "everylabel.methods.maclr.hybrid:Hybrid",
    "tfidf": "everylabel.methods.words.lexical:TfidfMatch",
    "bm25": "everylabel.methods.words.lexical:Bm25Match",
    "semantic": "everylabel.methods.maclr.semantic:Semantic",
    "maclr": "everylabel.methods.maclr.maclr:Maclr",
    "ict": "everylabel.methods.maclr.maclr:Ict",
    "simcse": "everylabel.methods.maclr.maclr:SimCse",
    "rts": "everylabel.methods.maclr.maclr:Rts",
    "fine-tuned": "everylabel.methods.maclr.maclr:FineTuned",
    "xr-linear-pseudo": "everylabel.methods.maclr.pseudo:PseudoXrLinear",
    "depl": "everylabel.methods.depl.depl:Depl",
    "depl+cls": "everylabel.methods.depl.depl:DeplCls",
    "de-ret": "everylabel.methods.depl.depl:DeRet",
    "classifier": "everylabel.methods.depl.depl:Classifier",
    "of-de": "everylabel.methods.onesided.onesided:OfDe",
    "of-lan": "everylabel.methods.onesided.variants:OfLan",
    "dpr": "everylabel.methods.onesided.variants:Dpr",
    "dexml": "everylabel.methods.onesided.variants:Dexml",
    "ova-clf": "everylabel.methods.onesided.variants:OvaClf",
    "lan": "everylabel.methods.onesided.variants:Lan",
    "attentionxml": "everylabel.methods.attentionxml.attentionxml:AttentionXml",
    "xml0": "everylabel.methods.xml0.fusion:Xml0",
    "label-fusion": "everylabel.methods.xml0.variants:LabelFusion",
    "conse": "everylabel.methods.xml0.variants:Conse",
    "zestxml": "everylabel.methods.zestxml.zest:ZestXml",
    "popularity": "everylabel.methods.words.popularity:Popularity",
}


def register(method: M) -> M:
    """Make a method of one's own known by its name: `@register` above its class. A name that is taken is an error."""
    known = METHODS.get(method.name)
    if known is not None and _target(known) != _target(method):
        raise ConfigError(f"there is a method {method.name!r} already; give {method.__qualname__} another name")
    METHODS[method.name] = method
    return method


def method_class(name: str) -> type[Method]:
    """The class behind a name; an unknown name is an error that suggests the nearest one."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(METHODS)}"
        raise ConfigError(f"unknown method {name!r}; {hint}")
    known = METHODS[name]
    if not isinstance(known, str):
        return known
    return _imported(known)


@cache
def _imported(target: str) -> type[Method]:
    module, _, attribute = target.partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_classes() -> list[type[Method]]:
    """Of all names; imports them, which takes a quarter of a second, but neither torch nor a compiler."""
    return [method_class(name) for name in METHODS]


def _target(known: str | type[Method]) -> str:
    return known if isinstance(known, str) else f"{known.__module__}:{known.__qualname__}"
