"""The methods by name. A class is imported only when it is used, so that listing them costs nothing."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from everylabel.methods.base import Method


class Entry(NamedTuple):
    target: str  # "module:Class"
    needs: str
    summary: str


METHODS: dict[str, Entry] = {
    "tagger": Entry(
        "everylabel.tagger.tagger:Tagger",
        "label texts; documents and labelled documents help",
        "several methods, chosen for the data and blended: frequent, rare and unseen labels in one ranking",
    ),
    "xr-linear": Entry(
        "everylabel.methods.words.linear:XrLinear",
        "labelled documents",
        "linear ranker down a tree of labels, on TF-IDF: strong, fast, for any number of labels",
    ),
    "svm": Entry(
        "everylabel.methods.words.linear:Svm",
        "labelled documents",
        "one linear classifier per label against all documents: the flat variant of xr-linear",
    ),
    "matchxml": Entry(
        "everylabel.methods.matchxml.matchxml:MatchXml",
        "labelled documents",
        "an encoder fine-tuned down a tree of labels, its vectors beside TF-IDF in a linear ranker",
    ),
    "xr-transformer": Entry(
        "everylabel.methods.matchxml.matchxml:XrTransformer",
        "labelled documents",
        "what matchxml is without label vectors of its own, text-label matching and sentence embedding",
    ),
    "knn": Entry(
        "everylabel.methods.words.neighbours:NearestNeighbours",
        "labelled documents",
        "labels of the most similar training documents",
    ),
    "hybrid": Entry(
        "everylabel.methods.maclr.hybrid:Hybrid",
        "label texts; documents help",
        "label texts matched by words and by meaning, in one ranking: the best without labelled documents",
    ),
    "tfidf": Entry(
        "everylabel.methods.words.lexical:TfidfMatch",
        "label texts",
        "labels whose words occur in the document, by the cosine of TF-IDF",
    ),
    "bm25": Entry(
        "everylabel.methods.words.lexical:Bm25Match",
        "label texts",
        "labels whose words occur in the document, by BM25",
    ),
    "semantic": Entry(
        "everylabel.methods.maclr.semantic:Semantic",
        "label texts",
        "labels near the document in the space of a pretrained encoder, which stays as it is",
    ),
    "maclr": Entry(
        "everylabel.methods.maclr.maclr:Maclr",
        "documents, label texts",
        "an encoder that learns from documents without labels, in two stages, and from labelled ones if there are some",
    ),
    "ict": Entry(
        "everylabel.methods.maclr.maclr:Ict",
        "documents, label texts",
        "an encoder that learns which title belongs to which text: the inverse cloze task alone",
    ),
    "simcse": Entry(
        "everylabel.methods.maclr.maclr:SimCse",
        "documents, label texts",
        "an encoder that learns to know a text again after dropout",
    ),
    "rts": Entry(
        "everylabel.methods.maclr.maclr:Rts",
        "documents, label texts",
        "an encoder that learns which random segments and titles are of the same text",
    ),
    "depl": Entry(
        "everylabel.methods.depl.depl:Depl",
        "labelled documents, label texts",
        "a dual encoder that finds labels by their names and by keywords from a linear classifier: for rare labels",
    ),
    "depl+cls": Entry(
        "everylabel.methods.depl.depl:DeplCls",
        "labelled documents, label texts",
        "depl and a classifier on one encoder, trained together: frequent labels, too",
    ),
    "de-ret": Entry(
        "everylabel.methods.depl.depl:DeRet",
        "labelled documents, label texts",
        "a dual encoder that finds labels by their names: depl without keywords",
    ),
    "classifier": Entry(
        "everylabel.methods.depl.depl:Classifier",
        "labelled documents",
        "an encoder with one linear classifier per label on top, trained together",
    ),
    "of-de": Entry(
        "everylabel.methods.onesided.onesided:OfDe",
        "labelled documents, label texts",
        "a dual encoder whose label side stays frozen: learns from pairs and keeps labels that nobody has used",
    ),
    "of-lan": Entry(
        "everylabel.methods.onesided.variants:OfLan",
        "labelled documents, label texts",
        "of-de with attention: each label looks at the words of a document that matter to it, and shows them",
    ),
    "dpr": Entry(
        "everylabel.methods.onesided.variants:Dpr",
        "labelled documents, label texts",
        "two encoders, of documents and of label texts, both trained",
    ),
    "dexml": Entry(
        "everylabel.methods.onesided.variants:Dexml",
        "labelled documents, label texts",
        "one encoder of documents and label texts, trained",
    ),
    "ova-clf": Entry(
        "everylabel.methods.onesided.variants:OvaClf",
        "labelled documents",
        "of-de with free weights for each label instead of its text",
    ),
    "lan": Entry(
        "everylabel.methods.onesided.variants:Lan",
        "labelled documents",
        "of-lan with free weights and queries for each label instead of its text",
    ),
    "xml0": Entry(
        "everylabel.methods.xml0.fusion:Xml0",
        "labelled documents, label texts",
        "an add-on to any method: labels without documents, from the labels that it finds and from the text",
    ),
    "label-fusion": Entry(
        "everylabel.methods.xml0.fusion:LabelFusion",
        "labelled documents, label texts",
        "the part of xml0 that makes new labels of those that a method finds",
    ),
    "conse": Entry(
        "everylabel.methods.xml0.fusion:Conse",
        "labelled documents, label texts",
        "label-fusion without a search: all labels that a method finds, added up",
    ),
    "zestxml": Entry(
        "everylabel.methods.zestxml.zest:ZestXml",
        "labelled documents, label texts",
        "which words of a document go with which words of a label, learned from pairs: labels without documents, too",
    ),
    "popularity": Entry(
        "everylabel.methods.words.popularity:Popularity",
        "labelled documents",
        "the most frequent labels, whatever the text: the floor that every method must beat",
    ),
}


def method_class(name: str) -> type[Method]:
    """The class behind a name; an unknown name is an error that suggests the nearest one."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(METHODS)}"
        raise ConfigError(f"unknown method {name!r}; {hint}")
    module, _, attribute = METHODS[name].target.partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found
