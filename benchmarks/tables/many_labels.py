"""results/pages/many-labels.md, 150,000 labels and a million: python -m benchmarks.tables.many_labels"""

from __future__ import annotations

import statistics

from benchmarks.record import read_result, read_results
from benchmarks.tables.markdown import Page, conditions, percent, section, table

KINDS = ("exact", "ann-i8", "ann-f16")


def scale_section() -> str:
    records = sorted(read_results("scale-*"), key=lambda record: record["labels"])
    if not records:
        return ""
    rows = []
    for record in records:
        counts = [f"{record[key]:,}" for key in ("labels", "labels_with_pairs", "train_documents")]
        seconds = [f"{record['seconds'][step]:.1f}" for step in ("fit", "save", "load")]
        sizes = [
            f"{record['microseconds_per_document']:.0f}",
            f"{record['model_mb']:.0f}",
            f"{record['peak_gb']:.2f}",
        ]
        rows.append(
            [*counts, *seconds, *sizes, *(percent(record["scores"][key]) for key in ("P@1", "nDCG@5", "R@100"))]
        )
    sizes = ["labels", "seen", "documents"]
    columns = [*sizes, "fit s", "save s", "load s", "µs/document", "model MB", "peak GB", "P@1", "nDCG@5", "R@100"]
    notes = "xr-linear, which reads no label texts, as it is on wordnet-reverse; the same 11,755 texts at each size."
    return section("Many labels", table(columns, rows), notes, conditions(records[-1]))


def index_section() -> str:
    records = sorted(read_results("label-index-*"), key=lambda record: record["n"])
    if not records:
        return ""
    rows = []
    for record in records:
        for kind in (kind for kind in KINDS if kind in record):
            values = record[kind]
            search = values.get("default", values)
            found = [
                f"{search.get('recall', 1):.3f}",
                f"{search['batch_per_second']:,.0f}",
                f"{search['single_ms']:.1f}",
            ]
            costs = [values["build"]["seconds"], values["memory_mb"], values["file_mb"]]
            rows.append([f"{record['n']:,}", kind, *found, *(f"{cost:,.0f}" for cost in costs)])
    columns = ["vectors", "index", "recall@100", "queries/s", "one query, ms", "build s", "memory MB", "file MB"]
    about = (
        f"{records[-1]['dim']} dimensions; how the vectors are made and the libraries compared: "
        "[docs/label_index.md](../../../docs/label_index.md)."
    )
    notes = "\n".join(f"- {record['n']:,}: {note}" for record in records for note in record.get("notes", []))
    return section("Label index", table(columns, rows), about, notes, *map(conditions, records))


def hybrid_section() -> str:
    record = read_result("hybrid-shortlist")
    if record is None:
        return ""
    shown = {
        "`hybrid` without its transformer": record["without"],
        "`hybrid`, its transformer on a shortlist": record["shortlist"],
        "`hybrid`, its transformer on all labels": record["all labels"],
        "`tfidf`, `knn`, `xr-linear` and `semantic` blended": record["blend"]["without"],
        "the same and `hybrid`": record["blend"]["with"],
    }
    rows = [[name, *(percent(scores[key]) for key in ("nDCG@5", "R@100"))] for name, scores in shown.items()]
    more = {key: percent(record["difference"][key]) for key in ("difference", "low", "high")}
    spent = {name: 1000 * own / record["documents"] for name, own in record["seconds"].items()}
    texts = record["label texts a second"]
    notes = (
        f"{record['data']}, {record['documents']:,} documents of dev. A shortlist has "
        f"{record['labels of a shortlist']:.0f} labels; of the best ten {percent(record['same best 10'])} % are those "
        f"of scoring all. With `hybrid` the blend has {more['difference']} points of nDCG@5 more ({more['low']} to "
        f"{more['high']}). Milliseconds of a processor a document, of many at once: "
        f"{', '.join(f'{name} {own:.1f}' for name, own in spent.items())}; of one alone, without the last two, "
        f"{record['milliseconds of one document']:.0f}. Label texts that the transformer encodes in a second of a "
        f"processor: {texts['int8']:,} with int8 weights, {texts['float32']:,} with float32."
    )
    return section("A transformer on a shortlist", table(["", "nDCG@5", "R@100"], rows), notes, conditions(record))


def token_section() -> str:
    records = sorted(read_results("token-index-*"), key=lambda record: record["labels"])
    if not records:
        return ""
    rows = []
    for record in records:
        for kind, values in record["rows"].items():
            costs = [f"{values[key]:.1f}" if key in values else "" for key in ("build_s", "mb")]
            times = [f"{values[key]:.1f}" for key in ("alone_ms", "together_ms")]
            rows.append([f"{record['labels']:,}", f"{record['texts']:,}", kind, *costs, *times])
    columns = ["labels", "texts", "index", "build s", "MB", "one query, ms", "one of 64, ms"]
    found = [values["found"] for record in records for values in record["rows"].values() if "found" in values]
    lists = [f"{percent(share)} % of the best {k}" for shares in found for k, share in shares.items()]
    notes = (
        "CPU, by the static encoder with 256 lexical dimensions. Tokens and vectors are exact: of the 100 best labels "
        + ", ".join(
            f"{percent(record['rows']['vectors']['same_as_tokens'])} % stand in the same place"
            for record in records
            if "vectors" in record["rows"]
        )
        + "."
        + (
            f" By lists those texts alone are looked at that lists lead to: {', '.join(lists)} are found."
            if lists
            else ""
        )
    )
    return section("Label texts by their tokens", table(columns, rows), notes, conditions(records[-1]))


def weights_section() -> str:
    record = read_result("fewer-weights")
    if record is None:
        return ""
    rows = [
        [
            corpus,
            f"{found['seen']:,}",
            limit,
            *(percent(one["scores"][key]) for key in one["scores"]),
            f"{one['mb']:.0f}",
        ]
        + [f"{one['seconds']:.0f}"]
        for corpus, found in record["corpora"].items()
        for limit, one in found["rows"].items()
    ]
    columns = ["data", "labels seen", "weights dropped below", "P@1", "nDCG@5", "PSP@5", "R@100", "MB", "CPU s"]
    notes = (
        "`xr-linear` on 2,000 documents of dev. Plans have the higher limit for more than 100,000 labels with "
        "documents of at most 30 words: with longer ones it costs much."
    )
    return section("Fewer weights", table(columns, rows), notes, conditions(record))


def extreme_section() -> str:
    records = sorted(read_results("extreme-*"), key=lambda record: (record["data"], record["labels"]))
    if not records:
        return ""
    costs, scores = [], []
    for record in records:
        row, speed = record["name"].removeprefix("extreme-"), record["speed"]
        counts = [f"{record[key]:,}" for key in ("labels", "labels_with_pairs", "train_documents")]
        wall = record["wall_seconds"]
        fit = ["-" if wall is None else f"{wall / 60:.0f}", f"{record['peak_gb']:.1f}", f"{record['model_mb']:,.0f}"]
        one = speed["one_document_ms"]
        ranks = [f"{speed['documents_per_second']:,.0f}", f"{one['median']:.1f}", f"{one['p95']:.1f}"]
        costs.append([row, *counts, *fit, *ranks, f"{record['add_labels']['seconds']:.1f}"])
        experts = record["experts"]
        best = max(experts, key=lambda name: experts[name]["nDCG@5"])
        for name, found in ((f"Tagger of {', '.join(experts)}", record["scores"]), (f"best: {best}", experts[best])):
            scores.append([row, name, *(percent(found.get(key)) for key in ("P@1", "nDCG@5", "PSP@5", "ZSR@100"))])
    columns = ["row", "labels", "seen", "documents", "fit, min", "peak GB", "model MB", "docs/s", "one, ms", "p95"]
    asked = " and ".join(sorted({f"{record['asked']:,}" for record in records}, key=len))
    notes = (
        "`everylabel fit` as it is by default, but for the memory that it may take beside the data: "
        + ", ".join(f"{record['may_take']} for {record['name'].removeprefix('extreme-')}" for record in records)
        + f". Blended on dev, fitted again on both, asked for {asked} documents of test. The peak is that of the whole "
        "process, data included. The last column is the time to add 10,000 labels to the model. Smaller rows have a "
        "choice of the labels, the documents that have one of them, and those pairs. The rows of 100,000 and more "
        "labels ran beside tests of other parts, which slowed `of-de` down several times, so that `xml0` and "
        "fitting again came too late with 894,625: times are upper bounds."
    )
    title = "The default Tagger with very many labels or documents"
    both = [
        table([*columns, "add, s"], costs),
        notes,
        table(["row", "model", "P@1", "nDCG@5", "PSP@5", "ZSR@100"], scores),
    ]
    return section(title, *both, *map(conditions, records))


def neighbours_section() -> str:
    record = read_result("append-neighbours")
    if record is None:
        return ""
    times, one = record["seconds"], record["ms_a_document"]
    steps = {
        f"fit on {record['train_documents']:,} documents": (record["fit_seconds"], None),
        f"learn {record['learned']} more, the first time": (times[0], None),
        f"the median of {len(times)} times": (statistics.median(times), None),
        "the slowest of them": (max(times), record["gb_above_at_the_peak"]),
        "put all together, once for every eighth more": (record["merge_seconds"], record["merge_gb_above_at_the_peak"]),
    }
    rows = [[name, f"{own:.2f}", "" if gb is None else f"{gb:.2f}"] for name, (own, gb) in steps.items()]
    notes = (
        f"`knn` on {record['data']}, as it is planned. Before, each learning put all together. What was learned takes "
        f"{record['mb_more']:.1f} MB beside the {record['mb_of_the_fit']:,.0f} MB of the fit, which are shared. "
        f"GB: above what the process had before, at the peak. One document takes {one['before']:.1f} ms before, and "
        f"{one['after']:.1f} ms after."
    )
    return section("Neighbours that are learned later", table(["", "seconds", "GB"], rows), notes, conditions(record))


PAGE = Page(
    module="many_labels",
    title="Many labels",
    about="What 148,897 labels and a million cost, and the indexes of their vectors and texts.",
    runs=(
        "scale",
        "extreme",
        "label_index",
        "token_index",
        "hybrid_shortlist",
        "fewer_weights",
        "append_neighbours",
    ),
    sections=(
        extreme_section,
        scale_section,
        index_section,
        token_section,
        hybrid_section,
        weights_section,
        neighbours_section,
    ),
)

if __name__ == "__main__":
    PAGE.write()
