"""Languages of label texts: which to match. python -m benchmarks.run.label_languages --data DIR [--train 20000]

tibkat-de (a German catalogue, some records English; GND) and finna-fi (titles in Finnish; YSO, whose alternatives are
Swedish and English, too). The data do not say which language an alternative is in: dictionaries do, and what they leave
open is the documents' own. Alternatives in another language then are translations, and an expert is fitted that reads
- names: the names alone;
- own: names and alternatives in the first language of the documents;
- auto: also translations in the other languages that the documents are in (`label_languages=auto`, the default);
- all: all of them (`label_languages=all`).
nDCG@5 and R@100 on test, of all labels and of unseen ones, and the difference of each to `own` with its interval over
documents. The expert is tfidf, which matches label texts and learns no pairs; its base forms are those of all languages
of the data in each case. A data set that is measured is not measured again. `--documents`: of test; with less than all
nothing is written.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simplemma import langdetect

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.house_worker import spread
from everylabel.data import Dataset, Label, LabelSet
from everylabel.data.label import Translation
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.metrics.ranking import by_document, evaluate, find_hits
from everylabel.metrics.significance import paired_bootstrap
from everylabel.text.language import language_or_any
from everylabel.text.matching import MatchConfig
from everylabel.text.scripts import find_words

NAME, COMMAND = "label-languages", "python -m benchmarks.run.label_languages"
LANGUAGES = {"tibkat-de": ("de", "en"), "finna-fi": ("fi", "sv", "en")}  # of label texts; the documents' first
READ = {"names": "none", "own": "none", "auto": "auto", "all": "all"}
LEAST_LEAD = 0.1  # by which another language must know more of the words
SHOWN = ("nDCG@5", "R@100", "ZSR@10", "ZSR@100")
K = 100


def language_of(text: str, languages: tuple[str, ...]) -> str:
    """Of an alternative; the documents' own where that is open. By dictionaries: it is a word or two."""
    words = " ".join(find_words(text))
    shares = dict(langdetect(words, languages)) if words else {}
    own = languages[0]
    best = max(languages, key=lambda code: shares.get(code, 0.0))
    return best if shares.get(best, 0.0) >= shares.get(own, 0.0) + LEAST_LEAD else own


def with_languages(labels: LabelSet, languages: tuple[str, ...]) -> tuple[list[Label], dict[str, int]]:
    """Alternatives in other languages than the first become translations; how many are in each."""
    found, counts = [], dict.fromkeys(languages, 0)
    for label in labels:
        codes = [language_of(text, languages) for text in label.alternatives]
        for code in codes:
            counts[code] += 1
        both = list(zip(label.alternatives, codes, strict=True))
        own = tuple(text for text, code in both if code == languages[0])
        foreign = tuple(Translation(code, text, "alternative") for text, code in both if code != languages[0])
        found.append(replace(label, alternatives=own, translations=(*label.translations, *foreign)))
    return found, counts


def measured(folder: Path, n_train: int, n_test: int) -> dict[str, Any]:
    languages = LANGUAGES[folder.name]
    train = spread(everylabel.load_dataset(folder, "train"), n_train)
    test = spread(everylabel.load_dataset(folder, "test"), n_test)
    labels, counts = with_languages(train.labels, languages)
    vocabularies = {"own": LabelSet.of(labels), "names": LabelSet.of([replace(one, alternatives=()) for one in labels])}
    result: dict[str, Any] = {"train_documents": len(train), "test_documents": len(test), "alternatives": counts}
    match = MatchConfig(language=language_or_any(train))
    by_documents = {}
    for read, setting in READ.items():
        data = Dataset(train.documents, vocabularies["names" if read == "names" else "own"], train.pairs, train.name)
        method = TfidfMatch(label_languages=setting, match=match).fit(data)
        ranking = method.rank(test.documents, K)
        scores = evaluate(ranking, test.required_pairs, train.counts, len(train))
        hits = find_hits(ranking, test.required_pairs)
        by_documents[read] = by_document(hits, train.counts, len(train))["nDCG@5"]
        result[read] = {key: round(float(scores[key]), 5) for key in SHOWN}
        result[read]["languages"] = "+".join(method.labels_.read_languages or ())
        print(folder.name, read, result[read], flush=True)
    for read, found in by_documents.items():
        result[read]["difference"] = paired_bootstrap(found, by_documents["own"])._asdict()
    return result


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--train", type=int, default=20_000, help="training documents, spread evenly")
    parser.add_argument("--documents", type=int, default=10**9, help="of test; with less than all nothing is written")
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
