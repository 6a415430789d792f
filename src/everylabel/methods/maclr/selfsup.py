"""The stages of self-supervised learning (the papers: maclr.py): batches, losses, schedules for the one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from everylabel.data.dataset import Dataset, Documents
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.methods.maclr.towers import Towers
from everylabel.methods.tower import Tower
from everylabel.run import QUIET, Run
from everylabel.text.matching import LabelMatcher, MatchConfig, label_texts
from everylabel.text.views import Views
from everylabel.train.batches import Corpus, dense_part, epoch_rows, some_of
from everylabel.train.clusters import spherical_kmeans
from everylabel.train.loop import Group, train
from everylabel.train.losses import info_nce, label_regularisation, supervised_contrastive
from everylabel.train.peers import by_first
from everylabel.types import Csr, FloatArray, IntArray, LongArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.index.build import IndexKind
    from everylabel.methods.maclr.maclr import SelfSupervision

EPOCHS, FEWEST, MOST = 10, 30, 20_000  # of a stage: passes over the documents, and the bounds of its steps
SEGMENT_WORDS = (40, 80)  # RTS
STATIC_LR, PSEUDO_STATIC_LR, TRANSFORMER_LR = 0.1, 0.02, 2e-5  # PSEUDO: where pseudo labels come after it
TEMPERATURE = {"cosine": 0.05, "dot": 1.0}
MORE_POSITIVES = 16  # of a row, in the first clusters
DOUBLINGS, CLUSTERINGS = 10, 20  # in all steps; the paper's 10,000 and 5,000 of 100,000 steps
CHUNK = 512


class Pairs(NamedTuple):
    """Texts x with their positives among texts y: the mask's, or row by row where there is no mask."""

    x: Tokens
    y: Tokens
    y_is_document: bool = False
    x_is_document: bool = True
    mask: Any = None  # or how much a positive counts


class Batch(NamedTuple):
    pairs: dict[str, Pairs]
    labels: Tokens | None = None  # negatives of the regularisation

    def and_also(self, pairs: dict[str, Pairs]) -> Batch:
        return Batch({**self.pairs, **pairs}, self.labels)


def learned_tower(
    encoder: EncoderConfig,
    learn: SelfSupervision,
    dataset: Dataset,
    seed: int,
    *,
    match: MatchConfig | None = None,
    index: IndexKind = "auto",
    run: Run = QUIET,
    **how: Any,
) -> Tower:
    """The encoder after both stages, and after fine-tuning where there are pairs; its labels are not in the index yet.

    An encoder that is not trainable is the pretrained one. `match`: of the TF-IDF view; `how`: as in `Tower.load`.
    """
    ordered = in_order_of_ids(dataset)
    views = Views.in_run(dataset.documents, run).taken(np.argsort(ranks(dataset.documents.ids)))
    tower = Tower.load(encoder, views, ordered.labels, seed, run=run, **{"center": True, **how})
    if encoder.trainable:
        learner = Learner(learn, tower, ordered, views, seed, index, run)
        if learn.task != "none":
            learner.stage_one()
        learner.stage_two(match or MatchConfig())
        if ordered.pairs is not None and ordered.pairs.nnz:
            learner.fine_tune(ordered.pairs)
    return tower


class Learner:
    """Trains a tower in place."""

    def __init__(
        self,
        config: SelfSupervision,
        tower: Tower,
        dataset: Dataset,
        views: Views,
        seed: int,
        index: IndexKind,
        run: Run,
    ) -> None:
        self.config, self.tower, self.dataset, self.views = config, tower, dataset, views
        self.seed, self.index, self.progress = seed, index, run
        self.towers = Towers(tower.encoder.module, tower.mean, unit=tower.similarity == "cosine")
        self.temperature = config.temperature or TEMPERATURE[tower.similarity]
        texts, self.owners = label_texts(dataset.labels)
        self.label_tokens = tower.encoder.tokenize(texts, tower.label_limit, run=run)
        self.first_text = np.searchsorted(self.owners, np.arange(len(dataset.labels) + 1))
        self.before: Callable[[int, np.random.Generator], Batch] | None = None  # batches of the stage before

    def stage_one(self) -> None:
        """Self-supervision on documents; on the labels' own texts where there are no documents."""
        documents = self.dataset.documents
        if not len(documents):
            self.progress.say("there are no training documents: learning from the labels' texts alone")
            documents = Documents.of(label_texts(self.dataset.labels)[0])
        limit = self.tower.label_limit  # titles are the labels of this stage, and read as such
        corpus = Corpus.of(documents, self.tower.encoder, self.progress, title_limit=limit)
        if len(corpus) < 2:
            self.progress.say("fewer than two documents have words: nothing to learn from, the encoder stays as it is")
            return
        steps = self.steps(len(corpus))
        self.run("stage-1", StageOne(self, corpus, steps * self.config.accumulate), steps)

    def stage_two(self, match: MatchConfig) -> None:
        """Pseudo labels from both views; the encoder's are those after stage I."""
        if not len(self.dataset.documents):
            return
        if views := by_first(lambda: self.pseudo_labels(match)):
            every = np.arange(len(self.dataset.labels))
            self.learn_pairs(
                "stage-2", pseudo_pairs(views, len(every), by_rank=self.config.pseudo_by_rank), every, share=1.0
            )

    def pseudo_labels(self, match: MatchConfig) -> list[IntArray]:
        """Of each view, the best ones of each document."""
        config, views = self.config, []
        if config.pseudo_tfidf:
            matcher = LabelMatcher(match).fit(self.views, self.dataset.labels, self.progress)
            views.append(matcher.rank(self.views, config.pseudo_labels).ids)
        if config.pseudo_encoder:
            self.tower.index_labels(self.dataset.labels, self.index)
            least = -np.inf if config.pseudo_least is None else config.pseudo_least
            views.append(self.tower.similar(self.views, least, config.pseudo_labels).ids)
        return views

    def fine_tune(self, pairs: Csr) -> None:
        """Eq. 3 on labelled documents, at half the learning rate, while what was learned before is trained on, too.

        Only labels that have pairs are negatives here: of the others nobody knows whether they are true.
        """
        if self.config.fine_tune_alone:
            self.before = None
        known = np.flatnonzero(np.bincount(pairs.indices, minlength=len(self.dataset.labels)))
        self.learn_pairs("fine-tuning", pairs, known, share=0.5)

    def learn_pairs(self, name: str, pairs: Csr, others: LongArray, share: float) -> None:
        """A pair counts as much as its number says. `others`: the labels that random negatives are drawn from."""
        rows = np.flatnonzero(np.diff(pairs.indptr))
        if not len(rows):
            self.progress.say(f"{name}: no document has a label to learn from, the encoder stays as it is")
            return
        tokens = self.views.tokens(self.tower.encoder, self.progress).take(rows)
        steps, before = self.steps(len(rows)), self.before if share < 1 else None
        if share < 1 and self.config.fine_tune_steps is not None:
            steps = self.config.fine_tune_steps

        n_others = 0 if before is None and share < 1 and self.config.fine_tune_alone else self.config.other_labels

        def batches(number: int, rng: np.random.Generator) -> Batch:
            at = epoch_rows(len(rows), self.config.batch_size, number, self.seed)
            random = others[rng.integers(len(others), size=n_others)]
            columns = np.unique(np.concatenate([pairs[rows[at]].indices, random])).astype(np.int32)
            weights = dense_part(pairs, rows[at], columns)
            found = {name: Pairs(tokens.take(at), self.texts_of(columns, rng), mask=weights)}
            return Batch(found) if before is None else before(number, rng).and_also(found)

        self.run(name, batches, steps, share)

    def run(self, name: str, batches: Any, steps: int, share: float = 1.0) -> None:
        self.before = lambda number, rng: batches(
            number + steps * self.config.accumulate, rng
        )  # goes on after its last step
        static = self.tower.encoder.config.kind == "static"
        lr = self.config.lr or (self.static_lr if static else TRANSFORMER_LR)
        groups = [Group(list(self.towers.parameters()), lr=lr * share, sparse=static)]
        for _ in train(
            self.towers,
            batches,
            self.loss,
            self.config.schedule(steps=steps, device=self.tower.encoder.config.device),
            groups=groups,
            seed=self.seed,
            name=name,
            run=self.progress,
        ):
            pass

    @property
    def static_lr(self) -> float:
        """Slower in both stages where pseudo labels follow: a fast encoder learns their noise, too."""
        pseudo = self.config.pseudo_tfidf or self.config.pseudo_encoder
        return PSEUDO_STATIC_LR if pseudo else STATIC_LR

    def loss(self, towers: Any, batch: Batch) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = {}
        for name, pairs in batch.pairs.items():
            x = towers.documents(pairs.x) if pairs.x_is_document else towers.labels(pairs.x)
            y = towers.documents(pairs.y) if pairs.y_is_document else towers.labels(pairs.y)
            if pairs.mask is None:
                losses[name] = info_nce(x, y, self.temperature)
            else:
                losses[name] = supervised_contrastive(x, y, pairs.mask, self.temperature)
            if batch.labels is not None and "labels" not in losses:  # of the first kind of pairs, whose x are documents
                twins, labels = towers.documents(pairs.x), towers.labels(batch.labels)
                temperature = self.config.label_temperature
                losses["labels"] = label_regularisation(x, twins, labels, temperature, pairs.mask)
        return losses

    def steps(self, n: int) -> int:
        if self.config.steps is not None:
            return self.config.steps
        return int(np.clip(EPOCHS * n / (self.config.batch_size * self.config.accumulate), FEWEST, MOST))

    def texts_of(self, labels: IntArray, rng: np.random.Generator) -> Tokens:
        """One of each label's texts, at random."""
        first, last = self.first_text[labels], self.first_text[labels + 1]
        return self.label_tokens.take(first + (rng.random(len(labels)) * (last - first)).astype(np.int64))


class StageOne:
    """Batches of stage I. The clusters are part of a checkpoint: they come from weights that are gone."""

    def __init__(self, learner: Learner, corpus: Corpus, steps: int) -> None:
        self.learner, self.corpus, self.total = learner, corpus, steps
        self.clusters: IntArray = np.arange(len(corpus), dtype=np.int32)

    def __call__(self, number: int, rng: np.random.Generator) -> Batch:
        config, corpus = self.learner.config, self.corpus
        if config.clustering:
            self.update(number, rng)
        rows = epoch_rows(len(corpus), config.batch_size, number, self.learner.seed)
        pairs = getattr(self, config.task)(rows, rng)
        if not config.label_regularisation:
            return Batch(pairs)
        labels = rng.integers(len(self.learner.dataset.labels), size=config.label_negatives).astype(np.int32)
        return Batch(pairs, self.learner.texts_of(labels, rng))

    def waits(self, number: int) -> bool:
        """Not made ahead: in the first half clusters change, by the weights of the step before."""
        return self.learner.config.clustering and number <= self.total // 2 + 1

    def titles(self, rows: LongArray, rng: np.random.Generator) -> dict[str, Pairs]:
        texts, titles = self.corpus.pairs(rows, rng)
        own = self.clusters[rows]
        return {"titles": Pairs(texts, titles, mask=own[:, None] == own if self.learner.config.clustering else None)}

    def twins(self, rows: LongArray, _rng: np.random.Generator) -> dict[str, Pairs]:
        texts = self.corpus.tokens.take(rows)
        return {"twins": Pairs(texts, texts, y_is_document=True)}

    def segments(self, rows: LongArray, rng: np.random.Generator) -> dict[str, Pairs]:
        """RTS: title and segment, two segments, title and title, label and label."""
        one, other = (self.corpus.segments(rows, SEGMENT_WORDS, rng) for _ in range(2))
        _, titles = self.corpus.pairs(rows, rng)
        labels = some_of(len(self.learner.dataset.labels), len(rows), rng).astype(np.int32)
        return {
            "title-segment": Pairs(one, titles),
            "segment-segment": Pairs(one, other, y_is_document=True),
            "title-title": Pairs(titles, titles, x_is_document=False),
            "label-label": Pairs(
                self.learner.texts_of(labels, rng), self.learner.texts_of(labels, rng), x_is_document=False
            ),
        }

    def update(self, number: int, rng: np.random.Generator) -> None:
        """Algorithm 1: K doubles every tenth of the steps, clusters are made anew every twentieth, until the half.

        By shares of the steps, not by whole numbers of them: K is never above 16 x K0, however few steps there are.
        """
        if 2 * number >= self.total:
            self.clusters = np.arange(len(self.corpus), dtype=np.int32)
        elif number == 0 or number * CLUSTERINGS // self.total > (number - 1) * CLUSTERINGS // self.total:
            n_clusters = min(self.first_clusters << (number * DOUBLINGS // self.total), len(self.corpus))
            # the rest of the batch is drawn from the same generator: all have it as it is after the clusters
            self.clusters, rng.bit_generator.state = by_first(
                lambda: (spherical_kmeans(self.vectors(), n_clusters, rng), rng.bit_generator.state)
            )

    @property
    def first_clusters(self) -> int:
        """K0: with K clusters of one size a row has (batch - 1) / K positives beside its own, in the mean."""
        config = self.learner.config
        return config.first_clusters or max(2, min(config.batch_size, len(self.corpus)) // MORE_POSITIVES)

    def vectors(self) -> FloatArray:
        towers, tokens = self.learner.towers, self.corpus.tokens
        parts = []
        towers.eval()
        progress = self.learner.progress
        with torch.inference_mode(), progress.task("clusters", tokens.n_rows) as advance:
            for first in range(0, tokens.n_rows, CHUNK):
                rows = np.arange(first, min(first + CHUNK, tokens.n_rows))
                parts.append(unit_rows(towers.documents(tokens.take(rows)).cpu().numpy()))
                advance(len(rows))
        return np.concatenate(parts)

    def state_dict(self) -> dict[str, Any]:
        return {"clusters": self.clusters}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.clusters = state["clusters"]


def pseudo_pairs(views: list[IntArray], n_labels: int, *, by_rank: bool) -> Csr:
    """The labels of all views (documents x ranks, padded with -1); what a label counts is summed over the views.

    By rank, the r-th label of a view counts 1 / r; otherwise every label counts 1, also one that several views have.
    """
    ids = np.concatenate(views, axis=1)
    ranks_in_view = np.concatenate([np.arange(1, view.shape[1] + 1) for view in views])
    there = ids >= 0
    weights = np.broadcast_to(1 / ranks_in_view if by_rank else np.ones(len(ranks_in_view)), ids.shape)[there]
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    pairs = csr_matrix((weights.astype(np.float32), ids[there], indptr), shape=(len(ids), n_labels))
    pairs.sum_duplicates()
    if not by_rank:
        pairs.data[:] = 1
    return pairs
