"""A stream of documents that a person corrects, and a model that learns from it: what it saves.

python -m benchmarks.run.feedback --data DIR [--only "eurlex57k, learning" ...]

A Tagger is fitted on 500 training documents; 2,000 others come in batches of 50. Ten labels of each are shown: a person
accepts those that are right, rejects the rest and types what is missing. Measured of each batch before it is learned:
nDCG@5 and the share of labels that had to be typed; after it, nDCG@5 on 1,000 test documents that never change. Ways:
- learning: each batch becomes decisions in a database, and `learn_waiting` builds, checks and takes the next model, as
  on a server. A fifth of recent decisions is held out for the check.
- rejected ignored: the same, without what was rejected.
- fixed: the first model, as it is.
- full fit: the first model until a full fit on all that came so far, every 500 documents.
- most doubtful first, random: only 1,000 of the 2,000 are decided about, 50 at a time: those that the review queue has
  first, or any.
All is kept in benchmarks/work/feedback: a condition goes on where it was. Annif's learning backend is run by
benchmarks.run.feedback_peers; its result stands in the same table.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import chosen_conditions

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.feedback.decisions import NewDecision
    from everylabel.feedback.store import DecisionStore
    from everylabel.feedback.versions import Versions
    from everylabel.tagger.tagger import Tagger
    from everylabel.types import Ranking

CORPORA = ("eurlex57k", "cve-libraries")
WAYS = ("learning", "rejected ignored", "fixed", "full fit", "most doubtful first", "random")
CONDITIONS = {f"{data}, {way}": (data, way) for data in CORPORA for way in WAYS}
PROJECT = "stream"


@dataclass(frozen=True)
class Sizes:
    """Documents."""

    first: int = 500
    stream: int = 2_000
    batch: int = 50
    full_fit: int = 500
    chosen: int = 1_000
    tested: int = 1_000
    shown: int = 10  # labels


@dataclass(frozen=True)
class Stream:
    """A corpus as it comes in."""

    name: str
    first: Dataset
    later: Dataset
    test: Dataset
    sizes: Sizes
    work: Path

    @classmethod
    def of(cls, folder: Path, name: str, sizes: Sizes, work: Path) -> Stream:
        import numpy as np

        import everylabel
        from benchmarks.run.shown import some

        train = everylabel.load_dataset(folder / name, "train")
        order = np.random.default_rng(0).permutation(len(train))
        later = train.subset(order[sizes.first : sizes.first + sizes.stream])
        test = some(everylabel.load_dataset(folder / name, "test"), sizes.tested)
        return cls(name, train.subset(order[: sizes.first]), later, test, sizes, work / name)

    def first_model(self, new: Callable[[], Tagger]) -> Path:
        return self.fitted(new, 0)

    def fitted(self, new: Callable[[], Tagger], n_later: int) -> Path:
        """On the first documents and so many of the later ones; once."""
        from scipy.sparse import csr_matrix, vstack

        from everylabel.data.dataset import Dataset, Documents

        path = self.work / f"fitted-{n_later}"
        if not path.exists():
            parts = [self.first, self.later.subset(range(n_later))]
            joined = Documents(
                *(
                    [one for part in parts for one in getattr(part.documents, kind)]
                    for kind in ("ids", "texts", "titles")
                )
            )
            pairs = csr_matrix(vstack([part.required_pairs for part in parts]))
            new().fit(Dataset(joined, self.first.labels, pairs, name=self.name)).save(path)
        return path


def main() -> None:
    from everylabel import Tagger

    folder, asked = chosen_conditions(__doc__, CONDITIONS)
    keep_vectors()
    found: dict[str, Any] = (read_result("feedback") or {}).get("conditions", {})
    for name in asked:
        data, way = CONDITIONS[name]
        stream = Stream.of(folder, data, Sizes(), WORK / "feedback")

        def keep(points: list[dict[str, Any]], name: str = name) -> None:
            found[name] = {"points": points}
            write_result("feedback", {"conditions": found}, "python -m benchmarks.run.feedback")

        run(stream, way, Tagger, found.get(name, {}).get("points", []), keep)


def keep_vectors() -> None:
    """What frozen transformers make of a text is kept on disk, to the last bit: the same documents are ranked again and
    again by models that share them, and encoding them is nine tenths of that."""
    from everylabel.text.views import Views

    computed = Views._vectors

    def kept(self: Views, encoder: Any, run: Any, keep: bool) -> Any:  # noqa: ARG001 (all are)
        return computed(self, encoder, run, True)

    Views._vectors = kept  # type: ignore[method-assign]


def run(
    stream: Stream,
    way: str,
    new: Callable[[], Tagger],
    points: list[dict[str, Any]],
    keep: Callable[[list[dict[str, Any]]], None],
) -> None:
    """A point for each batch: before it is learned, and the test documents by the model as it is then."""
    sizes, start = stream.sizes, stream.first_model(new)
    chosen = way in ("most doubtful first", "random")
    n_batches = min(sizes.chosen if chosen else sizes.stream, len(stream.later)) // sizes.batch
    state = State(stream, way, start, fresh=not points)
    points = points[: len(state.decided) // sizes.batch + 1] if way not in ("fixed", "full fit") else points
    while len(points) <= n_batches:
        i = len(points)
        model = state.model(new, i)
        same = bool(points) and way in ("fixed", "full fit") and state.path == points[-1]["model"]
        point: dict[str, Any] = {"documents": i * sizes.batch, "model": state.path, "taken": state.taken}
        point["test"] = points[-1]["test"] if same else score(model.rank(stream.test.documents, 5), stream.test)
        if i < n_batches:
            rows = state.next_batch(model, i)
            batch = stream.later.subset(rows)
            ranking = model.rank(batch.documents, sizes.shown)
            decisions = corrected(batch, ranking, with_rejected=way != "rejected ignored")
            labels = sum(len(one.labels) for one in decisions)
            typed = sum(len(one.added) for one in decisions)
            point |= {"before": score(ranking, batch), "labels": labels, "typed": typed}
            state.learn(decisions)
        points = [*points, point]
        keep(points)
        print(stream.name, way, point, flush=True)


class State:
    """What is on disk of one condition: its decisions and its versions."""

    def __init__(self, stream: Stream, way: str, start: Path, *, fresh: bool) -> None:
        from everylabel.feedback.store import DecisionStore
        from everylabel.feedback.versions import Versions

        folder = stream.work / way.replace(" ", "-")
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        self.stream, self.way = stream, way
        self.store: DecisionStore = DecisionStore(f"sqlite:///{folder / 'decisions.sqlite'}")
        self.versions: Versions = Versions(folder / "versions", start)
        self.path, self.taken = start.name, True
        self.decided = {one.document_id for one in self.store.every(PROJECT)}

    def model(self, new: Callable[[], Tagger], batch: int) -> Any:
        """The one that is used when this batch comes."""
        import everylabel

        sizes = self.stream.sizes
        if self.way == "full fit":
            path = self.stream.fitted(new, batch * sizes.batch // sizes.full_fit * sizes.full_fit)
        else:
            path = self.versions.current[1]
        self.path = path.name
        return everylabel.load(path)

    def next_batch(self, model: Any, batch: int) -> list[int]:
        """Rows of the stream: the next ones; of a choice, those in most doubt among all that are left."""
        sizes, later = self.stream.sizes, self.stream.later
        if self.way != "most doubtful first":
            return list(range(batch * sizes.batch, (batch + 1) * sizes.batch))
        from everylabel.feedback.review import DEPTH, doubt

        left = [i for i, one in enumerate(later.documents.ids) if one not in self.decided]
        doubts = doubt(model.rank(later.documents.subset(left), DEPTH))
        for row, value in zip(left, doubts, strict=True):
            documents = later.documents
            about = {"title": documents.titles[row], "document_id": documents.ids[row]}
            self.store.queue_document(PROJECT, documents.texts[row], doubt=float(value), **about)
        at = {one: i for i, one in enumerate(later.documents.ids)}
        return [at[one.document_id] for one in self.store.review(PROJECT, sizes.batch)]

    def learn(self, decisions: list[NewDecision]) -> None:
        from everylabel.feedback.learning import learn_waiting

        if self.way in ("fixed", "full fit"):
            return
        for one in decisions:
            self.store.add(PROJECT, replace(one, key=one.document_id))
        self.decided |= {one.document_id for one in decisions}
        outcome = learn_waiting(self.store, self.versions, PROJECT, least=1)
        self.taken = outcome is not None and outcome.taken


def corrected(batch: Dataset, ranking: Ranking, *, with_rejected: bool = True) -> list[NewDecision]:
    """What a person does who knows the truth."""
    from everylabel.feedback.decisions import NewDecision

    found = []
    for i, (ids, own) in enumerate(zip(ranking.ids, batch.required_pairs, strict=True)):
        shown = [batch.labels[int(label)].id for label in ids if label >= 0]
        true = [batch.labels[int(label)].id for label in own.indices]
        found.append(
            NewDecision(
                text=batch.documents.texts[i],
                title=batch.documents.titles[i],
                document_id=batch.documents.ids[i],
                accepted=tuple(label for label in shown if label in true),
                rejected=tuple(label for label in shown if label not in true) if with_rejected else (),
                added=tuple(label for label in true if label not in shown),
            )
        )
    return found


def score(ranking: Ranking, data: Dataset) -> float:
    from everylabel.metrics.ranking import find_hits, ndcg

    return round(ndcg(find_hits(ranking.top(5), data.required_pairs), 5).value, 5)


if __name__ == "__main__":
    main()
