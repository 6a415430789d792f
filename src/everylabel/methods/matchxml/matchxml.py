"""MatchXML and XR-Transformer: an encoder fine-tuned down a tree of labels, its vectors beside TF-IDF in a ranker.

"MatchXML: An Efficient Text-label Matching Framework for Extreme Multi-label Text Classification". label2vec and its
tree (tree/label2vec.py), level-by-level fine-tuning with text-label matching (levels.py), features = TF-IDF |
fine-tuned | static sentence embedding, and the linear ranker on them (linear/ranker.py) down a tree that is refined:
made from the fine-tuned vectors of each label's documents. XR-Transformer ("Fast Multi-Resolution Transformer
Fine-tuning for Extreme Multi-label Text Classification") is the same without label2vec, matching and sentence
embedding. The paper's own settings are presets (presets.py).

Not as in the paper, where no preset is asked for: static token embeddings as the encoder (a whole document instead of
its first 128 tokens), dense features of half the length of TF-IDF's, no tree in the linear ranker for up to 10,000
labels, and else its settings of xr-linear; equal weights of all nodes; rare labels are favoured a little (rare.py).
Labels without pairs are not in the tree. Cost: that of a linear ranker with 640 words more in each document, and of
the fine-tuning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel.data.dataset import Dataset
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features, SolverConfig
from everylabel.methods.base import Method, State
from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work
from everylabel.methods.matchxml.presets import MATCHXML, XR_TRANSFORMER
from everylabel.methods.rare import CANDIDATES, check_rare_weight, favour_rare
from everylabel.methods.traits import Traits, method
from everylabel.run import Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.features import DocumentFeatures
from everylabel.text.matching import require_texts
from everylabel.text.tfidf import TfidfConfig
from everylabel.text.views import Views
from everylabel.train.config import Compute
from everylabel.tree.build import LabelTree, build_tree, flat_tree, pifa
from everylabel.tree.label2vec import Label2VecConfig, completed, label2vec
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import rotation, side_by_side, unit_rows

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder

MOST_FLAT, LEAF_SIZE = 10_000, 400  # labels


@dataclass(kw_only=True)
class FineTuning(Compute):
    """How the encoder is fine-tuned at each level of the tree."""

    epochs: float = 4.0  # of each level; 0: the encoder stays as it is
    batch_size: int = 256
    negatives: int = 48  # other nodes a document is compared with
    leaf_size: int = 16  # labels that are siblings at the bottom of the tree of this part
    arity: int = 16
    first_nodes: int | None = None  # of the tree's first level, so that all stages are of a size; None: what is left
    most_nodes: int = 32_768  # of a level that is fine-tuned; levels of more, further down, are the ranker's alone
    beam: int = 10  # branches of the level above that other nodes are taken from
    weighted: bool = False  # a document counts for a node as often as it has labels below it: hinge, and start of heads
    weighted_start: bool | None = None  # the start of heads alone; None: as `weighted`
    matcher_start: bool = False  # heads start from what the level above sends wrongly, too; False: from siblings alone
    matching: bool = True  # text-label matching at the last level; False: squared hinge there, too
    hinge_too: bool = False  # squared hinge beside the matching of the last level, as a mean over a shortlist
    balance: float = 1.0  # lambda of eq. 6: 1 text to label, 0 label to text
    temperature: float = 0.05
    lr: float | None = None  # of the encoder; None: 0.01 for static embeddings, 0.00005 for transformers
    head_lr: float = 1e-3
    stage_lr: tuple[float, ...] = ()  # of the encoder, a stage each, the last one for all after it; (): lr
    stage_steps: tuple[int, ...] = ()  # likewise; (): epochs
    stage_warmup: tuple[float, ...] = ()  # likewise, shares of a stage's steps in which rates rise; (): 0.1
    folds: int = 0  # the ranker learns from vectors by encoders that were tuned on the other parts of the documents,
    # as it will meet new ones; 0: by the encoder that has learned from the same documents. Tunes so many times more

    def check(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise ConfigError(f"fine_tuning.folds must be 0, or at least 2; got {self.folds}")
        if self.epochs < 0 or min(self.batch_size, self.negatives) < 1:
            raise ConfigError("fine_tuning: epochs must not be negative; batch_size and negatives at least 1")
        if min(self.leaf_size, self.arity) < 2:
            raise ConfigError(
                f"fine_tuning: leaf_size and arity must be at least 2; got {self.leaf_size} and {self.arity}"
            )
        first = 2 if self.first_nodes is None else self.first_nodes
        if min(self.most_nodes, self.beam, *self.stage_steps) < 1 or first < 2:
            raise ConfigError(
                "fine_tuning: most_nodes, beam and stage_steps must be at least 1, and first_nodes at least 2; "
                f"got {self.most_nodes}, {self.beam}, {self.stage_steps} and {self.first_nodes}"
            )
        if not all(0 <= share <= 1 for share in (self.balance, *self.stage_warmup)):
            raise ConfigError(
                f"fine_tuning.balance and stage_warmup must be from 0 to 1; got {self.balance} and {self.stage_warmup}"
            )
        if min(self.temperature, self.head_lr, 1.0 if self.lr is None else self.lr, *self.stage_lr) <= 0:
            raise ConfigError("fine_tuning: temperature, lr, head_lr and stage_lr must be above 0")
        self.check_compute("fine_tuning.")


@method("matchxml", "an encoder fine-tuned down a tree of labels, its vectors beside TF-IDF in a linear ranker")
class MatchXml(Method):
    """Score = product of probabilities down the tree, as in `xr-linear`; of an ensemble their mean.

    preset="paper" has the sizes of Wiki10-31K for any data, "paper:DATASET" a data set's own, "paper:DATASET-ensemble"
    three of them, as table VI.
    Deviations:
    - Matching is as the authors' code has it: cosine in eq. 4 and 5, where the paper says dot product, the balance of
      eq. 6, and on Eurlex-4K the hinge beside it.
    - label2vec keeps every label; the paper's table II has an r_sample of 0.1, its text none. A label that is always
      alone, or in no document, has the mean vector of those that it resembles, where word2vec would keep a random one.
    - Stages have the warm-up of the authors' code. Texts have unit length in the hinge, too; theirs have not. The hinge
      alone is a sum over a shortlist, theirs a mean (Adam does not see that). On Wiki-500K the last rate is table III's
      1e-4; their file has 1.5e-4.
    - Weight decay, epsilon and betas are table IV's. The first stage's head has no weight decay; theirs has. Gradients
      of encoder and head are cut to length 1 together, theirs each for itself.
    - Wrong branches that make negatives are found by the stage's head alone, theirs by a linear model with TF-IDF.
    - In the ranker matcher-aware negatives are taken at every level, theirs at the last; one beam for all levels; a
      margin becomes a probability by a logistic function, and small weights are dropped by what they do to a margin.
    - The tree's nodes have equal numbers of leaves, not powers of two: Eurlex-4K has stages of 16, 248 and 3,956.
    - TF-IDF, fine-tuned vector and sentence embedding have length 1 each; theirs brings the first and the last to
      length 1 together.
    - An ensemble is the mean of probabilities; theirs of softmax, sigmoid or ranks, another one a data set. Its members
      have the steps of the single model; on Eurlex-4K and Wiki10-31K theirs differ by up to a fifth.
    - Without ready features (--features) TF-IDF is computed here, by the settings of `tfidf`.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MATCHXML

    traits = Traits(
        why="an encoder fine-tuned down a tree of labels beside TF-IDF",
        needs_torch=True,
        seconds=(2e-2, 0.0),
        worth=110,
        least_documents=FEW_DOCUMENTS,
    )

    tfidf: TfidfConfig = field(default_factory=TfidfConfig)
    solver: SolverConfig = field(default_factory=SolverConfig)
    tree: Literal["label2vec", "pifa"] = "label2vec"  # what the first tree is made from
    label2vec: Label2VecConfig = field(default_factory=Label2VecConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    fine_tuning: FineTuning = field(default_factory=FineTuning)
    tuned_weight: float = 0.5  # of the fine-tuned vector beside TF-IDF; 0: without
    sentence: EncoderConfig = field(
        default_factory=lambda: EncoderConfig(kind="minilm", max_tokens=64, onnx=True, trainable=False)
    )
    sentence_weight: float = 0.5  # of the static sentence embedding; 0: without
    leaf_size: int | None = None  # of the linear ranker's tree; None: no tree for up to 10,000 labels, else 400
    arity: int = 16
    first_nodes: int | None = None  # of the first level of that tree; None: what is left
    ranker_tree: Literal["tuned", "paper"] = "tuned"  # made from labels' fine-tuned documents; paper: label2vec beside
    # them, or all features where `tree` is pifa
    beam: int = 10  # branches that the ranker follows
    members: int = 1  # of the ensemble: each with a tree and a fine-tuned encoder of its own
    member_encoders: tuple[str, ...] = ()  # kinds of encoder, in turn; (): all as `encoder` says
    rare_weight: float = 0.2  # how much of a label's frequency is taken away, see rare.py; 0: nothing, as in the paper

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, solving=5 * facts.n_labelled * 3e-3, training=5 * facts.n_labelled * 4e-3)

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        return super().unfit(facts) or "svm on words is as good, and far faster"

    def check(self) -> None:
        for part in (self.tfidf, self.solver, self.label2vec, self.encoder, self.fine_tuning, self.sentence):
            part.check()
        check_rare_weight(self.rare_weight)
        sizes = [size for size in (self.leaf_size, self.arity, self.first_nodes) if size is not None]
        if min(sizes) < 2 or min(self.members, self.beam) < 1:
            raise ConfigError("leaf_size, arity and first_nodes must be at least 2, beam and members at least 1")
        for kind in self.member_encoders:
            replace(self.encoder, kind=kind).check()
        if self.tuned_weight < 0 or self.sentence_weight < 0:
            raise ConfigError(
                f"tuned_weight and sentence_weight must not be negative; got {self.tuned_weight} "
                f"and {self.sentence_weight}"
            )

    def encoder_of(self, number: int) -> EncoderConfig:
        """That of a member of the ensemble."""
        kinds = self.member_encoders
        return replace(self.encoder, kind=kinds[number % len(kinds)]) if kinds else self.encoder

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.encoders.build import load_encoder

        require_texts(dataset.documents)
        ordered, columns = in_order_of_ids(dataset), np.argsort(ranks(dataset.labels.ids))
        views = Views.in_run(dataset.documents, run).taken(np.argsort(ranks(dataset.documents.ids)))
        pairs, labels = ordered.required_pairs, np.flatnonzero(ordered.counts > 0).astype(np.int32)
        self.features_, X = views.fitted_tfidf(self.tfidf, run)
        self.sentence_ = load_encoder(self.sentence, run=run) if self.sentence_weight > 0 else None
        self.members_: list[Member] = []
        for number in range(self.members):
            member = Member(self, number)
            member.fit(X, pairs, labels, views, run)
            member.ranker.tree_ = replace(
                member.ranker.tree_, order=columns[member.ranker.tree_.order].astype(np.int32)
            )
            self.members_.append(member)

    def _rank(self, views: Views, k: int) -> Ranking:
        require_texts(views.documents)
        X = views.tfidf(self.features_)
        sentences = None if self.sentence_ is None else views.vectors(self.sentence_)

        def ranked(depth: int) -> Ranking:
            if len(self.members_) == 1:
                return self.members_[0].rank(X, sentences, views, depth, deep=self.selected_ is not None)
            deep = max(depth, CANDIDATES)
            return Ranking.mean([member.rank(X, sentences, views, deep) for member in self.members_], depth)

        return favour_rare(ranked, self.counts_, self.rare_weight, k)

    def _state(self) -> State:
        state = self.features_.state("tfidf")
        if self.sentence_ is not None:
            state |= add_prefix("sentence", self.sentence_.state())
        for i, member in enumerate(self.members_):
            state |= add_prefix(f"member{i}", member.state())
        return state

    def _restore(self, state: State) -> None:
        from everylabel.encoders.build import restore_encoder

        self.features_ = DocumentFeatures(self.tfidf).restore("tfidf", state)
        self.sentence_ = None
        if self.sentence_weight > 0:
            self.sentence_ = restore_encoder(self.sentence, strip_prefix(state, "sentence"))
        self.members_ = [
            Member(self, number).restore(strip_prefix(state, f"member{number}")) for number in range(self.members)
        ]

    def _check_contents(self, n_labels: int) -> None:
        self.features_.check()
        for member in self.members_:
            encoders = [encoder for encoder in (member.encoder, self.sentence_) if encoder is not None]
            n_dense = sum(encoder.dim for encoder in encoders)
            member.ranker.check(self.features_.n_columns + n_dense, n_labels)


@method(
    "xr-transformer", "what matchxml is without label vectors of its own, text-label matching and sentence embedding"
)
class XrTransformer(MatchXml):
    """Without what MatchXML adds. Its presets are the first row of each data set in MatchXML's table XII.

    Deviations: those of `matchxml` but "Matching", "label2vec", "TF-IDF, fine-tuned".
    - Steps and rates are MatchXML's, fewer than XR-Transformer's own.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = XR_TRANSFORMER

    traits = replace(MatchXml.traits, worth=None)

    tree: Literal["label2vec", "pifa"] = "pifa"
    fine_tuning: FineTuning = field(default_factory=lambda: FineTuning(matching=False))
    sentence_weight: float = 0.0


class Member:
    """One model of an ensemble: a fine-tuned encoder, and the linear ranker on its features."""

    def __init__(self, config: MatchXml, number: int) -> None:
        self.config, self.seed = config, config.random_state + number
        self.encoder_config = config.encoder_of(number)
        self.encoder: Encoder | None = None
        self.ranker = LinearRanker(solver=config.solver, beam=config.beam, random_state=self.seed)

    def fit(self, X: Csr, pairs: Csr, labels: IntArray, views: Views, run: Run) -> None:
        from everylabel.train.peers import by_first

        own = pairs[:, labels]
        first = cache(lambda: self.label_vectors(X, own, run))  # for both trees, if they are made from it
        tuned = self.tuned(first, own, views, run) if self.config.tuned_weight > 0 else None

        def fitted() -> LinearRanker:
            sentence = self.config.sentence_
            features = self.joined(X, tuned, None if sentence is None else views.vectors(sentence, run, keep=True))
            tree = flat_tree(labels)
            if len(labels) > (self.config.leaf_size or MOST_FLAT):
                vectors = pifa(X, own) if tuned is None else own.T @ tuned
                if self.config.ranker_tree == "paper":
                    vectors = self.refined_vectors(first(), vectors, features, own)
                rng = np.random.default_rng(self.seed)
                sizes: dict[str, Any] = {"leaf_size": self.config.leaf_size or LEAF_SIZE, "arity": self.config.arity}
                tree = build_tree(vectors, labels, first=self.config.first_nodes, rng=rng, run=run, **sizes)
            return self.ranker.fit(features, pairs, tree, run)

        self.ranker = by_first(fitted)

    def tuned(self, label_vectors: Callable[[], Any], own: Csr, views: Views, run: Run) -> FloatArray:
        """The documents' vectors by the encoder, fine-tuned down the tree of the labels' vectors if it is to be."""
        from everylabel.train.peers import by_first

        texts = views.full_texts
        config = self.config.fine_tuning
        if not (config.epochs > 0 and self.encoder_config.trainable):
            self.encoder = self.loaded(texts, run)
            return self.encoder.encode(texts, run=run)
        sizes: dict[str, Any] = {"leaf_size": config.leaf_size, "arity": config.arity, "first": config.first_nodes}
        rng, labels = np.random.default_rng(self.seed), np.arange(own.shape[1], dtype=np.int32)
        tree = by_first(lambda: build_tree(label_vectors(), labels, rng=rng, run=run, **sizes))
        self.encoder = self.fine_tuned(texts, np.arange(len(texts)), own, tree, run)
        vectors = self.encoder.encode(texts, run=run)
        return self.held_out(vectors, texts, own, tree, run) if config.folds else vectors

    def loaded(self, texts: list[str], run: Run) -> Encoder:
        from everylabel.encoders.build import load_encoder

        return load_encoder(self.encoder_config, texts, run)

    def fine_tuned(self, texts: list[str], rows: LongArray, own: Csr, tree: LabelTree, run: Run) -> Encoder:
        """On these rows of the texts. It begins as it would with all of them."""
        from everylabel.methods.matchxml.levels import Levels

        encoder = self.loaded(texts, run)
        learned = [texts[i] for i in rows]
        Levels(self.config.fine_tuning, encoder, learned, self.seed, run).fine_tune(csr_matrix(own[rows]), tree)
        return encoder

    def held_out(self, vectors: FloatArray, texts: list[str], own: Csr, tree: LabelTree, run: Run) -> FloatArray:
        """Each document by an encoder that was tuned on others, turned so that these lie as nearly as they can where
        the encoder of all has them (`vectors`): two fine-tunings of one model do not end in the same axes."""
        found, n_folds = np.empty_like(vectors), self.config.fine_tuning.folds
        fold = np.random.default_rng(self.seed).permutation(len(texts)) % n_folds
        for number in range(n_folds):
            held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            encoder = self.fine_tuned(texts, rest, own, tree, run.within(f"fold {number}"))
            other = encoder.encode(texts, run=run)
            found[held] = other[held] @ rotation(other[rest], vectors[rest])
        return found

    def label_vectors(self, X: Csr, own: Csr, run: Run) -> Any:
        if self.config.tree == "pifa":
            return pifa(X, own)
        vectors, known = label2vec(own, self.config.label2vec, self.seed, run)
        if not known.any():
            run.say("no document has two labels: the tree is made from the labels' documents instead of label2vec")
            return pifa(X, own)
        return vectors if known.all() else completed(vectors, known, pifa(X, own))

    def refined_vectors(self, first: Any, of_documents: Any, features: Features, own: Csr) -> Any:
        """As the authors' code: fine-tuned documents and label2vec, half and half; with PIFA all features' sum."""
        if issparse(first):
            return pifa(side_by_side(features.sparse, csr_matrix(features.dense)), own)
        halves = [unit_rows(of_documents), unit_rows(first)]
        if issparse(of_documents):
            return side_by_side(halves[0], csr_matrix(halves[1]))
        return np.concatenate(halves, axis=1)

    def joined(self, X: Csr, tuned: FloatArray | None, sentences: FloatArray | None) -> Features:
        weighted = [(tuned, self.config.tuned_weight), (sentences, self.config.sentence_weight)]
        parts = [np.float32(weight) * part for part, weight in weighted if part is not None]
        return Features.of(X, np.concatenate(parts, axis=1) if parts else None)

    def rank(self, X: Csr, sentences: FloatArray | None, views: Views, k: int, *, deep: bool = False) -> Ranking:
        tuned = None if self.encoder is None else views.vectors(self.encoder)
        return self.ranker.rank(self.joined(X, tuned, sentences), k, deep=deep)

    def state(self) -> dict[str, Any]:
        encoder = {} if self.encoder is None else self.encoder.state()
        return add_prefix("encoder", encoder) | add_prefix("ranker", self.ranker.state())

    def restore(self, state: dict[str, Any]) -> Member:
        from everylabel.encoders.build import restore_encoder

        if self.config.tuned_weight > 0:
            self.encoder = restore_encoder(self.encoder_config, strip_prefix(state, "encoder"))
        self.ranker.restore(strip_prefix(state, "ranker"))
        return self
