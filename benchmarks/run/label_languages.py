"""Languages of label texts: which to match. python -m benchmarks.run.label_languages --data DIR [--train 20000]

tibkat-de: a German catalogue, one record in a hundred English; alternatives of labels are English. finna-fi: titles in
Finnish; alternatives of labels are Finnish, Swedish, English. Alternatives in another language than the first of the
documents are translations, and an expert is fitted that reads
- names: the names alone;
- own: names and alternatives in the first language of the documents;
- auto: also translations in the other languages that documents are in (`label_languages=auto`, the default);
- all: all of them (`label_languages=all`).
nDCG@5, R@100 and recall of unseen labels on dev, by which the default is chosen, and on test; the difference of nDCG@5
to `own` with its interval over documents; nDCG@5 of documents in another language than the first. The expert is tfidf,
which matches label texts and learns no pairs; its base forms are those of all languages of the data in each case. What
is measured is not measured again. `--documents`: of dev and of test; with less than all nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.house_worker import spread
from everylabel.data import Dataset, Label, LabelSet
from everylabel.data.label import Translation
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.metrics.ranking import Ratio, by_document, evaluate, find_hits
from everylabel.metrics.significance import paired_bootstrap
from everylabel.text.language import language_of_texts, language_or_any
from everylabel.text.matching import MatchConfig

NAME, COMMAND = "label-languages", "python -m benchmarks.run.label_languages"
LANGUAGES = {"tibkat-de": ("de", "en"), "finna-fi": ("fi", "sv", "en")}  # of label texts; the documents' first
READ = {"names": "none", "own": "none", "auto": "auto", "all": "all"}
SHOWN = ("nDCG@5", "R@100", "ZSR@10", "ZSR@100")
K = 100


def languages_of(alternatives: Sequence[str], languages: tuple[str, ...]) -> list[str]:
    """As these data have them, each language once at the end, in this order: those before are in the first one. What is
    alone at finna-fi may be in any, and is taken for Finnish."""
    own, *others = languages
    n_own = len(alternatives) - len(others) if len(alternatives) >= len(others) else len(alternatives)
    return [own] * n_own + others[: len(alternatives) - n_own]


def with_languages(labels: LabelSet, languages: tuple[str, ...]) -> tuple[list[Label], dict[str, int]]:
    """Alternatives in other languages than the first become translations; how many are in each."""
    found, counts = [], dict.fromkeys(languages, 0)
    for label in labels:
        codes = languages_of(label.alternatives, languages)
        for code in codes:
            counts[code] += 1
        both = list(zip(label.alternatives, codes, strict=True))
        own = tuple(text for text, code in both if code == languages[0])
        foreign = tuple(Translation(code, text, "alternative") for text, code in both if code != languages[0])
        found.append(replace(label, alternatives=own, translations=(*label.translations, *foreign)))
    return found, counts


def in_others(data: Dataset, languages: tuple[str, ...]) -> NDArray[np.bool_]:
    """Of each document: is it in another of these languages than the first?"""
    told = [language_of_texts([text]) for text in data.documents.full_texts]
    return np.array([one in languages[1:] for one in told])


def measured(folder: Path, n_train: int, n_tested: int) -> dict[str, Any]:
    languages = LANGUAGES[folder.name]
    train = spread(everylabel.load_dataset(folder, "train"), n_train)
    held = {split: spread(everylabel.load_dataset(folder, split), n_tested) for split in ("dev", "test")}
    others = {split: in_others(data, languages) for split, data in held.items()}
    labels, counts = with_languages(train.labels, languages)
    vocabularies = {"own": LabelSet.of(labels), "names": LabelSet.of([replace(one, alternatives=()) for one in labels])}
    sizes = {split: len(data) for split, data in held.items()}
    in_other = {split: int(found.sum()) for split, found in others.items()}
    result: dict[str, Any] = {"train_documents": len(train), "documents": sizes, "in_other_languages": in_other}
    result["alternatives"] = counts
    match = MatchConfig(language=language_or_any(train))
    by_documents: dict[tuple[str, str], Ratio] = {}
    for read, setting in READ.items():
        data = Dataset(train.documents, vocabularies["names" if read == "names" else "own"], train.pairs, train.name)
        method = TfidfMatch(label_languages=setting, match=match).fit(data)
        result[read] = {"languages": "+".join(method.labels_.read_languages or ())}
        for split, tested in held.items():
            ranking = method.rank(tested.documents, K)
            scores = evaluate(ranking, tested.required_pairs, train.counts, len(train))
            hits = find_hits(ranking, tested.required_pairs)
            ndcg = by_documents[read, split] = by_document(hits, train.counts, len(train))["nDCG@5"]
            result[read][split] = {key: round(float(scores[key]), 5) for key in SHOWN}
            result[read][split]["others"] = round(Ratio(ndcg[0][others[split]], ndcg[1][others[split]]).value, 5)
        print(folder.name, read, result[read], flush=True)
    for (read, split), found in by_documents.items():
        result[read][split]["difference"] = paired_bootstrap(found, by_documents["own", split])._asdict()
    return result


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--train", type=int, default=20_000, help="training documents, spread evenly")
    parser.add_argument(
        "--documents", type=int, default=10**9, help="of dev and of test; with less than all nothing is written"
    )
    parser.add_argument("--only", nargs="*", choices=LANGUAGES, default=list(LANGUAGES))
    options = parser.parse_args()
    use_own_cache()
    found: dict[str, Any] = (read_result(NAME) or {}).get("data", {})
    for name in options.only:
        is_part = options.documents < 10**9
        if name in found and not is_part:
            continue
        found[name] = measured(data_folder(options.data) / name, options.train, options.documents)
        if not is_part:
            write_result(NAME, {"data": found}, COMMAND)
        print({read: found[name][read] for read in READ}, flush=True)


if __name__ == "__main__":
    main()
