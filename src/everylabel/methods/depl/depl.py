"""DEPL: labels are found by descriptions that a linear classifier writes; and `depl+cls`, `de-ret`, `classifier`.

"Long-tailed Extreme Multi-label Text Classification by the Retrieval of Generated Pseudo Label Descriptions".
A linear SVM on words gives each label keywords; name and keywords are the label's text (section 3.2). A dual encoder,
its encoder taken over from a classifier, ranks labels by the product of document and label vectors (eq. 1, 2), trained
by binary cross-entropy over a label set a batch: all positives, the SVM's best wrong labels, random ones (section 3.3).
`depl+cls` has a classifier beside it, trained together: the mean of both probabilities (eq. 3, 4). `de-ret`: names
only. `classifier`: the encoder with a linear head, what the others start from. Theorem 3 as numbers: bounds.py.

Slip of the paper: log sigma(1 - f) is log(1 - sigma(f)).
Deviations where no preset is asked for, beside other encoders:
- Static embeddings have lexical dimensions (encoders/static.py), and start from a classifier only in `depl+cls`, whose
  head needs it (`initialise`). Transformers do as in the paper.
- Documents and labels are pooled as the encoder does it (the paper: `pooling="cls"`, `label_pooling="mean"`); pooled
  vectors have one length, documents are centred, products have a temperature and a learned constant (dual.py). The
  paper: `normalise=False`, plain dot products.
- Retrieval learns as fast as the classifier; the paper: at a fifth of the encoder's rate and a twentieth of the head's.
- Losses are sums over labels, not means: divided by thousands, gradients would be as small as Adam's epsilon.
- Linear layers start as the identity, or as the classifier's layer; the head starts as the labels' frequencies.
- A share of the labels of a batch is read without keywords (`plain_share`): labels that nobody has used have none, and
  would otherwise be texts of a kind that was never trained, and be found everywhere.
- Rare labels are favoured a little (rare.py), in `depl` and `depl+cls`. Of many labels the SVM is a tree's (xr-linear).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, LabelSet, pairs_in
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.errors import ConfigError, DataError
from everylabel.index.build import IndexKind
from everylabel.methods.base import Method, State
from everylabel.methods.depl.bounds import keyword_bounds
from everylabel.methods.depl.presets import CLASSIFIER, DE_RET, DEPL
from everylabel.methods.depl.settings import Learning, Pooling, Shape
from everylabel.methods.evidence import Clue, base_forms
from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work, encoder_for
from everylabel.methods.rare import check_rare_weight, favour_rare
from everylabel.methods.traits import Traits, method
from everylabel.methods.words.linear import Svm, XrLinear, seen_labels
from everylabel.run import Run
from everylabel.text.keywords import Description, Descriptions, KeywordConfig, WordSvm, hard_negatives, top_words
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.types import Csr, IntArray, Ranking

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder
    from everylabel.methods.depl.dual import Clusters, DualRanker
    from everylabel.methods.depl.dual_learning import DualLearner

TEMPERATURE = 0.05  # of products of document and label vectors, before they learned anything
MOST_LABELS = 50  # of a document: hard negatives are looked for behind them


@method("classifier", "an encoder with one linear classifier per label on top, trained together")
class Classifier(Method):
    """An encoder and one linear classifier a seen label. Fit: epochs x (tokens + documents x labels x dim).

    Deviations:
    - The paper does not say how many epochs, how many documents a batch, how long texts are read: in the presets 8 (on
      AmazonCat-13K and Wiki-500K 4), 16 and 512 tokens. Nor does it say how rates change: they rise in the first tenth
      of the steps and fall to 0 in a straight line. Gradients are cut to length 1.
    - Losses are sums over labels, not means; linear layers start as the identity, the head as the labels' frequencies.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = CLASSIFIER

    traits = Traits(why="an encoder with a classifier a label", needs_torch=True, least_documents=FEW_DOCUMENTS)

    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(lexical=768))
    pooling: Pooling = "own"  # of documents
    normalise: bool = True  # vectors of one length, products with a temperature and a constant; False: dot products
    classify: Learning = field(default_factory=Learning)
    index: IndexKind = "auto"
    rare_weight: float = 0.0  # how much of a label's frequency is taken away, see rare.py

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=facts.trained_on(8) * (7e-7 * min(facts.words, 1_000) + 2.2e-7 * facts.n_seen))

    def check(self) -> None:
        self.encoder.check()
        self.classify.check("classify")
        check_rare_weight(self.rare_weight)
        if self.encoder.kind == "static" and (self.shape.documents, self.shape.labels) != ("own", "own"):
            raise ConfigError(
                f"pooling {self.shape.documents!r} and {self.shape.labels!r} needs a transformer: static embeddings "
                "have no CLS token, and no token apart from its text; set pooling=own and label_pooling=own"
            )
        if self.encoder.passages != "first":
            raise ConfigError(
                f"{self.name} reads a document as one text: encoder.passages must be 'first'; "
                f"got {self.encoder.passages!r}"
            )

    @property
    def shape(self) -> Shape:
        return Shape(self.pooling, "own", TEMPERATURE if self.normalise else None)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.depl.dual import DualRanker, Head

        learner, encoder = self._learner(dataset, np.empty((len(dataset), 0), np.int32), run)
        learner.classify(self.classify)
        head, ranker = Head(learner.head_rows(), seen_labels(dataset)), DualRanker.of(encoder, learner.dual)
        self.ranker_: DualRanker = ranker.index_labels(self.index, None, head, len(dataset.labels))

    def _learner(self, dataset: Dataset, hard: IntArray, run: Run, *, head: bool = True) -> tuple[DualLearner, Encoder]:
        """`hard`: each document's hard negatives, as labels of the dataset. The encoder is the one that is trained."""
        from everylabel.methods.depl.dual_learning import DualLearner, Pairs
        from everylabel.methods.depl.module import Dual
        from everylabel.methods.tower import Tower

        ordered, seen = in_order_of_ids(dataset), seen_labels(dataset)
        by_id = np.argsort(ranks(dataset.documents.ids))
        views, center = Views.in_run(dataset.documents, run), self.pooling == "own" and self.normalise
        tower = Tower.load(self.encoder, views.taken(by_id), ordered.labels, self.random_state, center=center, run=run)
        tower.encoder.module.requires_grad_(self.encoder.trainable)
        dual = Dual(tower.encoder.module, tower.mean, self.shape)
        rows = by_id[np.diff(dataset.required_pairs.indptr)[by_id] > 0]
        place = np.full(len(dataset.labels) + 1, -1, np.int32)  # the last is for what is no label
        place[seen] = np.arange(len(seen))
        pairs = Pairs(
            documents=views.tokens(tower.encoder, run).take(rows),
            truth=csr_matrix(dataset.required_pairs[rows][:, seen_first(dataset)]),
            n_seen=len(seen),
            hard=place[hard[rows]],
        )
        how: dict[str, Any] = {"static": self.encoder.kind == "static", "device": self.encoder.device}
        return DualLearner(dual, pairs, self.random_state, run, **how, with_head=head), tower.encoder

    def _rank(self, views: Views, k: int) -> Ranking:
        clusters, n_labels = self._clusters(views), len(self.labels_)
        return favour_rare(
            lambda depth: self.ranker_.rank(views, depth, n_labels, clusters), self.counts_, self.rare_weight, k
        )

    def _clusters(self, views: Views) -> Clusters | None:  # noqa: ARG002
        """The labels that each document's are chosen from, None: all."""
        return None

    def _state(self) -> State:
        return self.ranker_.state("ranker")

    def _restore(self, state: State) -> None:
        from everylabel.methods.depl.dual import DualRanker

        self.ranker_ = DualRanker.restore(self.encoder, "ranker", state, self.shape)

    def _check_contents(self, n_labels: int) -> None:
        self.ranker_.check(n_labels)


@method(
    "depl", "a dual encoder that finds labels by their names and by keywords from a linear classifier: for rare labels"
)
class Depl(Classifier):
    """Score = sigmoid of the product of document and description. Fit: the SVM, the classifier, the dual encoder.

    Deviations: those of `classifier`.
    - The "500 instances" of a batch, 300 on two data sets, are taken for labels: true ones, hard negatives, random.
    - Keywords are taken whole, as long as name and keywords have at most 16 tokens. A given description is read beside
      them, with up to 16 tokens more; the paper cuts all of it together. A label that nobody has used has alternative
      names in their place.
    - Labels that nobody has used are among the random negatives, too (`unseen_negatives`); of them it says nothing.
    - Base forms are simplemma's, not spaCy's.
    - The SVM has a squared hinge loss.
    - Wiki-500K's clusters are those of the SVM's own tree, not X-Transformer's, and the paper does not say how many;
      labels that are in none are found by the dual encoder.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = DEPL

    traits = replace(
        Classifier.traits,
        why="an encoder that finds rare labels by keywords",
        reads_label_texts=True,
        ranks_unseen=True,
        worth=90,
        most_of_budget=0.1,  # it adds a tenth of a point to the others (on dev of eurlex57k)
        reads_sentences=20,
    )

    keywords: KeywordConfig = field(default_factory=KeywordConfig)
    description_tokens: int = 16  # of a label's text
    hard_negatives: int = 10  # of a document, from the SVM
    labels_per_batch: int = 1500  # positives, hard negatives, and random ones up to so many
    plain_share: float = 0.1  # of the labels of a batch that are read without keywords; 0: none, as in the paper
    unseen_negatives: bool = True  # random negatives among all labels; False: only seen ones, in favour of the others
    initialise: bool | None = None  # the encoder from a classifier; None: transformers, and with a classifier beside it
    joint: bool = False  # a classifier beside the retrieval: depl+cls
    label_pooling: Pooling = "own"
    clusters: int = 0  # of the SVM's tree, whose labels alone are ranked: for very many labels; 0: all labels are
    rare_weight: float = 0.2
    retrieve: Learning = field(default_factory=lambda: Learning(batch_size=256))

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        training = facts.trained_on(8) * (1.1e-6 * min(facts.words, 1_000) + 3.5e-4)
        solving = XrLinear.cost(facts).solving if facts.many_labels else 0.45 * Svm.cost(facts).solving
        return Work(reading=5 + 1e-6 * facts.all_words + 2e-4 * facts.n_labels, solving=solving, training=training)

    @classmethod
    def fit_memory(cls, facts: Facts) -> float:
        return super().fit_memory(facts) + 6_500 * facts.n_labels + 12_000 * facts.n_seen  # classifiers, for keywords

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        tree, short = ({"leaf_size": XrLinear.leaf_size}, {"lexical": 256}) if facts.many_labels else ({}, {})
        return {"keywords": {"language": facts.language, **tree}, **encoder_for(facts, **short)}

    def check(self) -> None:
        super().check()
        self.keywords.check()
        self.retrieve.check("retrieve")
        if self.description_tokens < 1 or self.hard_negatives < 0 or self.labels_per_batch < 1:
            raise ConfigError(
                "description_tokens and labels_per_batch must be at least 1, and hard_negatives 0 or more; "
                f"got {self.description_tokens}, {self.labels_per_batch} and {self.hard_negatives}"
            )
        if self.clusters < 0 or (self.clusters and not self.keywords.leaf_size):
            raise ConfigError(
                "clusters must be 0 (all labels are ranked), or a number of groups of the SVM's tree, which "
                f"keywords.leaf_size makes; got {self.clusters} and {self.keywords.leaf_size}"
            )
        if not 0 <= self.plain_share <= 1:
            raise ConfigError(f"plain_share is a share of the labels, from 0 to 1; got {self.plain_share}")

    @property
    def shape(self) -> Shape:
        return super().shape._replace(labels=self.label_pooling)

    @property
    def needs_svm(self) -> bool:
        return bool(self.keywords.per_label or self.hard_negatives or self.clusters)

    @property
    def starts_from_classifier(self) -> bool:
        return self.joint or self.encoder.kind != "static" if self.initialise is None else self.initialise

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.depl.dual import DualRanker, Head
        from everylabel.methods.depl.dual_learning import Texts
        from everylabel.train.peers import by_first

        require_texts(dataset.documents)
        self.svm_, keywords, hard = by_first(lambda: self._fitted_svm(dataset, run))
        learner, encoder = self._learner(dataset, hard, run, head=self.joint or self.starts_from_classifier)
        labels, tokenize, room = dataset.labels, encoder.tokenize, self.description_tokens
        self.descriptions_ = Descriptions.made(
            labels, self._words(), keywords, lambda texts: tokenize(texts).lengths, room
        )
        used = dataset.counts > 0
        full = self._tokens(labels, self.descriptions_, used, tokenize)
        plain = self._tokens(labels, self.descriptions_.without_keywords(), np.zeros_like(used), tokenize)
        order = seen_first(dataset)
        texts = Texts(full.take(order), plain.take(order), self.plain_share if self.keywords.per_label else 0.0)
        if self.starts_from_classifier:
            learner.classify(self.classify)
        learner.retrieve(self.retrieve, texts, self.labels_per_batch, unseen=self.unseen_negatives, joint=self.joint)
        head = Head(learner.head_rows(), seen_labels(dataset)) if self.joint else None
        self.ranker_ = DualRanker.of(encoder, learner.dual).index_labels(
            self.index, full, head, len(labels), keep_rows=self.clusters > 0
        )

    def _clusters(self, views: Views) -> Clusters | None:
        """The labels of the best groups of the SVM's tree. Those that nobody has used are in none."""
        from everylabel.methods.depl.dual import Clusters

        if self.svm_ is None or not self.clusters:
            return None
        ranker = self.svm_.ranker_
        return Clusters(ranker.labels_of_groups(self.svm_.features(views), self.clusters), ranker.tree_.order)

    def _with_labels(self, labels: LabelSet, first: int) -> None:
        new = labels.subset(range(first, len(labels)))
        whole = self.descriptions_.with_more(len(new))
        plain = Descriptions(whole.words, whole.keywords[first:], whole.read[first:])
        tokens = self._tokens(new, plain, np.zeros(len(new), bool), self.ranker_.encoder.tokenize)
        self.ranker_ = self.ranker_.with_labels(tokens, first)
        self.descriptions_ = whole

    def _tokens(self, labels: LabelSet, descriptions: Descriptions, used: Any, tokenize: Any) -> Tokens:
        from everylabel.train.batches import interleaved

        names, given = descriptions.texts(labels, used)
        room = self.description_tokens
        return interleaved(tokenize(names, room), tokenize(given, room))

    def _fitted_svm(self, dataset: Dataset, run: Run) -> tuple[WordSvm | None, Csr, IntArray]:
        """Its keywords (labels x words) and hard negatives (documents x so many); none of either without an SVM."""
        n_labels, rows = len(dataset.labels), np.argsort(ranks(dataset.documents.ids))
        hard = np.full((len(dataset), self.hard_negatives), -1, np.int32)
        if not self.needs_svm:
            return None, csr_matrix((n_labels, 0), dtype=np.float32), hard
        svm = WordSvm(self.keywords, self.random_state)
        pairs = dataset.required_pairs[rows]
        features = svm.fit(Views.in_run(dataset.documents, run).taken(rows), pairs, seen_labels(dataset), run)
        if self.hard_negatives:
            found = svm.ranker_.rank(features, min(self.hard_negatives + MOST_LABELS, n_labels))
            hard[rows] = hard_negatives(found, pairs, self.hard_negatives)
        return svm, top_words(svm.weights(n_labels)[0], self.keywords.per_label), hard

    def _words(self) -> list[str]:
        return [] if self.svm_ is None else self.svm_.words

    def describe(self, label: str) -> Description:
        """The text by which a label is found, and its keywords with their weights; by the label's id."""
        if label not in self.labels_.index:
            raise DataError(f"label {label!r} is not in the model's vocabulary of {len(self.labels_):,} labels")
        at = self.labels_.index[label]
        return self.descriptions_.one(self.labels_, at, bool(self.counts_[at]))

    @property
    def base_form_language(self) -> str:
        return self.keywords.language

    def evidence(self, views: Views, label: int) -> Iterator[Clue]:
        """Keywords of the label that the document has."""
        keywords = self.describe(self.labels_[label].id).keywords
        written = base_forms(views.full_texts[0], self.keywords.language) if keywords else {}
        for keyword in keywords:
            if keyword.word in written:
                forms, weight = written[keyword.word], keyword.weight / keywords[0].weight
                yield Clue("keywords", forms[0], weight, forms=forms)

    def diagnostics(self, dataset: Dataset) -> dict[str, Any]:
        """Theorem 3 on labelled documents; nothing without keywords, or where their SVM does not rank all labels."""
        if self.svm_ is None or not self.keywords.per_label or self.svm_.ranker_.tree_.depth > 1:
            return {}
        return keyword_bounds(
            self.svm_.features(Views.of(dataset.documents)).sparse,
            *self.svm_.weights(len(self.labels_)),
            self.descriptions_.read_keywords(),
            pairs_in(self.labels_, dataset),
            self.ranker_.encoder.dim,
        )

    def _state(self) -> State:
        svm = {} if self.svm_ is None else self.svm_.state("svm")
        keywords, read = self.descriptions_.keywords, self.descriptions_.read
        return super()._state() | svm | {"keywords": keywords, "keywords_read": read}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.svm_ = WordSvm(self.keywords, self.random_state).restore("svm", state) if self.needs_svm else None
        self.descriptions_ = Descriptions(self._words(), state["keywords"], state["keywords_read"])

    def _check_contents(self, n_labels: int) -> None:
        self.ranker_.check(n_labels, keeps_rows=self.clusters > 0)
        if self.svm_ is not None:
            self.svm_.check(n_labels)
        self.descriptions_.check(n_labels)


@method("depl+cls", "depl and a classifier on one encoder, trained together: frequent labels, too")
class DeplCls(Depl):
    """Score = the mean of two probabilities, of the retrieval and of a classifier, trained together.

    Deviations: those of `depl`.
    - A label that nobody has used has a probability of 0 in the classifier.
    """

    traits = replace(Depl.traits, worth=None, reads_sentences=21)

    joint: bool = True

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        alone, beside = super().cost(facts), Classifier.cost(facts)
        return replace(alone, training=alone.training + beside.training)


@method("de-ret", "a dual encoder that finds labels by their names: depl without keywords")
class DeRet(Depl):
    """The dual encoder with the labels' names: DEPL without keywords.

    Deviations: those of `depl` but "Keywords", "Base forms".
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = DE_RET

    traits = replace(Depl.traits, why="an encoder that finds labels by their names", worth=None, reads_sentences=22)

    keywords: KeywordConfig = field(default_factory=lambda: KeywordConfig(per_label=0))
    rare_weight: float = 0.0


def seen_first(dataset: Dataset) -> IntArray:
    """All labels, the seen ones first; both in the order of their ids."""
    by_id = np.argsort(ranks(dataset.labels.ids))
    return np.concatenate([seen_labels(dataset), by_id[dataset.counts[by_id] == 0]]).astype(np.int32)
