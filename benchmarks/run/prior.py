"""What agreement of words, meaning and a transformer is worth, learned from several corpora; each left out in its turn.

python -m benchmarks.run.prior --data DIR [--corpora eurlex57k ...] [--learn]

For each corpus `hybrid` is fitted on some training documents without their labels, as a user has them, and its parts
are asked about some dev and test documents (kept in benchmarks/work/prior: the slow step, minutes a corpus). Then trees
are learned from the dev documents of all corpora but those of one source, and measured on the test documents of these:
calibration error, and nDCG@5 beside the sum of the parts, which is `hybrid`. --learn also writes
src/everylabel/tagger/prior.json, learned from all. The corpora of `run.debian` are one source, as are a corpus and the
same with fewer labels; what is not there is left out. Nothing but the labels of dev documents is learned from.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import WORK, write_result
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache
from benchmarks.run.debian import corpus_folder
from benchmarks.run.shown import load_train, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from everylabel.data import Dataset
    from everylabel.tagger.prior import Prior, Readings
    from everylabel.types import Csr, Ranking

SOURCES = {
    "eurlex57k": "eurlex57k",
    "cve-libraries": "cve-libraries",
    "esco-skills": "esco-skills",
    "wordnet-reverse": "wordnet-reverse",
    "tibkat-de": "tibkat-de",
    "finna-fi": "finna-fi",
    "debtags-en": "debian",
    "debtags-it": "debian",
    "debian-depends": "debian",
}
FEWER_LABELS = {  # the most frequent ones, and fewer documents: small vocabularies, as most are
    "eurlex57k, 200 labels": 200,
    "tibkat-de, 100 labels": 100,
    "finna-fi, 500 labels": 500,
    "cve-libraries, 200 labels": 200,
    "debtags-en, 100 labels": 100,
}
SOURCES |= {name: SOURCES[name.partition(",")[0]] for name in FEWER_LABELS}
UNLABELLED = 5_000  # training documents, whose labels nobody looks at
ASKED = 600  # dev documents, and as many test documents
FEWER = 10  # times fewer unlabelled documents where there are fewer labels, and a third of those asked about
DEPTH = 300  # ranks of each part
PARTS = (("words", "transformer", "meaning"), ("words",))  # of `hybrid`, and of `tfidf`, where there is no torch

SHARE_WEIGHTS = tuple(np.arange(0, 2.1, 0.25).tolist())
LEARNED_RANKS = 30  # labels of a document that are learned from
WEIGHT = 1e4  # of a source, in documents' candidates
ROUNDS = 60
SETTINGS: dict[str, Any] = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": 6,
    "min_data_in_leaf": 200,
    "feature_fraction": 0.7,
    "lambda_l2": 5.0,
    "deterministic": True,
    "seed": 0,
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--corpora", nargs="*", default=list(SOURCES))
    parser.add_argument("--learn", action="store_true", help="write the prior that comes with the package")
    parser.add_argument("--read", help="only ask the parts about this corpus")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if arguments.read:
        use_own_cache()
        read(arguments.read, folder)
        return
    for corpus in arguments.corpora:
        if place(corpus, folder) is None:
            print(f"{corpus}: left out, it is not there; python -m benchmarks.run.debian makes Debian's", flush=True)
        elif not kept(corpus, "test").exists():
            start("run.prior", "--data", folder, "--read", corpus)
    there = [corpus for corpus in arguments.corpora if kept(corpus, "test").exists()]
    result = {" ".join(parts): left_out(there, parts) for parts in PARTS}
    chosen = [] if arguments.corpora == list(SOURCES) else ["--corpora", *arguments.corpora]
    command = shlex.join(["python", "-m", "benchmarks.run.prior", *chosen])
    write_result("prior", {"corpora": {corpus: SOURCES[corpus] for corpus in there}, "parts": result}, command)
    if arguments.learn:
        write_prior(there, f"{command} --learn")


def place(corpus: str, data: Path) -> Path | None:
    return corpus_folder(data, corpus.partition(",")[0])


def kept(corpus: str, split: str) -> Path:
    return WORK / "prior" / f"{corpus}-{split}.npz"


def read(corpus: str, data: Path) -> None:
    import everylabel
    from everylabel import config
    from everylabel.methods.facts import Facts
    from everylabel.methods.maclr.hybrid import Hybrid

    folder = place(corpus, data)
    assert folder is not None
    whole = load_train(folder)
    chosen = most_frequent(whole, FEWER_LABELS[corpus]) if corpus in FEWER_LABELS else None
    train = some(whole, UNLABELLED if chosen is None else UNLABELLED // FEWER).without_pairs()
    train = train if chosen is None else with_labels(train, chosen)
    hybrid: Any = config.build(Hybrid, Hybrid.settings_for(Facts.of(train)), "").fit(train).model_
    for split in ("dev", "test"):
        whole = everylabel.load_dataset(folder, split)
        asked = some(whole, ASKED) if chosen is None else some(with_labels(whole, chosen), ASKED // 3)
        found = answers(hybrid, asked)
        kept(corpus, split).parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(kept(corpus, split), **found)
        print(f"{corpus}, {split}: {len(asked)} documents", flush=True)


def most_frequent(train: Dataset, n: int) -> Any:
    return np.sort(np.argsort(-train.counts, kind="stable")[:n])


def with_labels(data: Dataset, chosen: Any) -> Dataset:
    """A vocabulary of these labels only, and documents that have one of them; all documents where nobody knows."""
    from everylabel.data import Dataset

    labels = data.labels.subset(chosen)
    if data.pairs is None:
        return Dataset(data.documents, labels, name=data.name)
    pairs = data.pairs[:, chosen].tocsr()
    rows = np.flatnonzero(np.diff(pairs.indptr))
    return Dataset(data.documents.subset(rows), labels, pairs[rows], name=data.name)


def answers(hybrid: Any, asked: Dataset) -> dict[str, Any]:
    """All that the columns are made of, so that other columns can be tried without reading again."""
    from everylabel.tagger.prior import BEST
    from everylabel.text.views import Views

    views, depth = Views(asked.documents), min(BEST, len(asked.labels))
    rankings = hybrid.readings(views, depth)
    rankings["hybrid"] = hybrid.summed(rankings, views, depth)
    pairs = np.concatenate([ranked_pairs(rankings[name].top(depth).ids) for name in ("hybrid", "words")], axis=1)
    documents, labels = np.unique(pairs, axis=1).astype(np.int64)
    found = {f"{name} {part}": getattr(one.top(DEPTH), part) for name, one in rankings.items() for part in one._fields}
    found |= {"documents": documents, "labels": labels, "shares": hybrid.shares(views, documents, labels)}
    found |= {"n_words": np.array([1 + text.count(" ") for text in views.full_texts]), "n_labels": len(asked.labels)}
    truth = asked.required_pairs
    return found | {"truth indptr": truth.indptr, "truth indices": truth.indices}


def ranked_pairs(ids: Any) -> Any:
    """Documents and labels of a ranking."""
    return np.stack([np.nonzero(ids >= 0)[0], ids[ids >= 0]])


@dataclass(frozen=True)
class Asked:
    """What is known of a corpus's documents, and what is true of them."""

    found: Readings
    truth: Csr

    def hits(self, ranking: Ranking) -> Any:
        """Of each place."""
        hits = np.asarray(self.truth[np.arange(ranking.n_docs)[:, None], np.maximum(ranking.ids, 0)].todense()) > 0
        return hits & (ranking.ids >= 0)


def asked_of(corpus: str, split: str, parts: Sequence[str]) -> Asked:
    from scipy.sparse import csr_matrix

    from everylabel.tagger.prior import BEST, Readings
    from everylabel.types import Ranking

    with np.load(kept(corpus, split)) as kept_values:
        values = dict(kept_values)
    n_labels = int(values["n_labels"])
    rankings = {
        name: Ranking(values[f"{name} ids"], values[f"{name} scores"])
        for name in (*parts, "hybrid" if len(parts) > 1 else "words")
    }
    total = rankings["hybrid" if len(parts) > 1 else "words"].top(BEST)
    documents, labels = ranked_pairs(total.ids)
    known = values["documents"] * n_labels + values["labels"]
    shares = np.zeros((*total.ids.shape, 2), np.float32)
    shares[total.ids >= 0] = values["shares"][np.searchsorted(known, documents * n_labels + labels)]
    found = Readings(total, shares, {part: rankings[part] for part in parts}, values["n_words"], n_labels)
    pairs = np.ones(len(values["truth indices"]), np.float32), values["truth indices"], values["truth indptr"]
    return Asked(found, csr_matrix(pairs, shape=(total.n_docs, n_labels)))


def learned(corpora: dict[str, Asked], parts: tuple[str, ...]) -> Prior:
    """The weight of names, then trees from the first labels; each source counts alike."""
    import lightgbm

    from everylabel.tagger.prior import LABEL_COLUMNS, Prior, column_names, columns, in_order
    from everylabel.tagger.trees import Trees

    # words alone weigh names already: on dev nothing is gained by it, and half a point of nDCG@5 lost on some
    share_weight = best_share_weight(corpora) if len(parts) > 1 else 0.0
    names, rows, hits, sources = column_names(parts), [], [], []
    for corpus, asked in corpora.items():
        ranking, order = in_order(asked.found, share_weight)
        counted = (ranking.ids >= 0) & (np.arange(ranking.k) < LEARNED_RANKS) & labelled(asked)[:, None]
        rows.append(columns(asked.found, order)[counted])
        hits.append(asked.hits(ranking)[counted])
        sources.append(np.full(counted.sum(), list(SOURCES.values()).index(SOURCES[corpus])))
    directions = [int(name in LABEL_COLUMNS) for name in names]
    settings = SETTINGS | {"monotone_constraints": directions, "num_threads": 1, "verbose": -1}
    source = np.concatenate(sources)
    weights = WEIGHT / np.bincount(source)[source]  # sources count alike, and so do all candidates of one
    data = lightgbm.Dataset(np.concatenate(rows), np.concatenate(hits), weight=weights)
    return Prior(parts, share_weight, Trees.of_text(lightgbm.train(settings, data, ROUNDS).model_to_string()))


def best_share_weight(corpora: dict[str, Asked]) -> float:
    """With which most corpora gain over the sum alone, and of these the least: a mean would be a gamble on the few for
    which names are all."""
    at_all = {weight: ndcg_of_each(corpora, weight) for weight in SHARE_WEIGHTS}
    gains = {weight: int((found > at_all[SHARE_WEIGHTS[0]]).sum()) for weight, found in at_all.items()}
    return float(max(SHARE_WEIGHTS, key=lambda weight: (gains[weight], -weight)))


def ndcg_of_each(corpora: dict[str, Asked], share_weight: float) -> Any:
    from everylabel.metrics.ranking import find_hits, ndcg
    from everylabel.tagger.prior import in_order

    rankings = (in_order(asked.found, share_weight)[0] for asked in corpora.values())
    return np.array(
        [
            ndcg(find_hits(ranking, asked.truth), 5).value
            for ranking, asked in zip(rankings, corpora.values(), strict=True)
        ]
    )


def labelled(asked: Asked) -> Any:
    return np.diff(asked.truth.indptr) > 0


def left_out(corpora: list[str], parts: tuple[str, ...], split: str = "test") -> dict[str, Any]:
    """Each corpus by trees that were learned from the corpora of other sources."""
    learn_from = {corpus: asked_of(corpus, "dev", parts) for corpus in corpora}
    result = {}
    for corpus in corpora:
        others = {name: one for name, one in learn_from.items() if SOURCES[name] != SOURCES[corpus]}
        result[corpus] = measured(learned(others, parts), asked_of(corpus, split, parts))
        print(f"{' '.join(parts)}, without {corpus}:", result[corpus], flush=True)
    return result


def measured(prior: Prior, asked: Asked) -> dict[str, Any]:
    from everylabel.metrics.ranking import find_hits, ndcg
    from everylabel.metrics.reliability import reliability
    from everylabel.metrics.significance import paired_bootstrap

    found, total = prior.ranking(asked.found), asked.found.total
    own, other = (ndcg(find_hits(ranking, asked.truth), 5) for ranking in (found, total))
    shown, before = (reliability(ranking, asked.truth) for ranking in (found, total))
    errors = {"ECE": shown.ece, "ECE by chance": shown.by_chance, "ECE of the sum": before.ece}
    numbers = {**errors, "nDCG@5": own.value, "nDCG@5 of the sum": other.value}
    difference = paired_bootstrap(own, other)._asdict()
    return {
        **{name: round(value, 4) for name, value in numbers.items()},
        "difference": {name: round(value, 5) for name, value in difference.items()},
        "documents": int(labelled(asked).sum()),
        "share_weight": prior.share_weight,
    }


def write_prior(corpora: list[str], command: str) -> None:
    from importlib.resources import files

    from everylabel.tagger.prior import FILE

    priors = {}
    for parts in PARTS:
        asked = {corpus: asked_of(corpus, "dev", parts) for corpus in corpora}
        state = learned(asked, parts).state()
        plain = {name: getattr(value, "tolist", lambda value=value: value)() for name, value in state.items()}
        priors[" ".join(parts)] = {name: value for name, value in plain.items() if name != "parts"}
    about = {"made by": command, "dev documents of": corpora, "of each at most": ASKED}
    path = Path(str(files("everylabel.tagger").joinpath(FILE)))
    path.write_text(json.dumps({"about": about, "priors": priors}) + "\n", encoding="utf-8")
    print(f"wrote {path}", flush=True)


if __name__ == "__main__":
    main()
