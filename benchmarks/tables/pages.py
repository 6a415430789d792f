"""benchmarks/results as one Markdown page: python -m benchmarks.tables"""

from __future__ import annotations

from benchmarks.markdown import conditions, table
from benchmarks.pair_choices import CHOICES, METRICS
from benchmarks.quality_tables import (
    bounds_section,
    calibration_section,
    costs_section,
    differences_section,
    quality_section,
)
from benchmarks.record import RESULTS, read_result
from benchmarks.scale import SIZES
from benchmarks.tagger_tables import tagger_section
from benchmarks.unseen_tables import collapse_section, dropped_section, run_time_section


def choices_section() -> str:
    record = read_result("choices")
    if record is None:
        return ""
    keys = {"eurlex57k": ("nDCG@5", "R@100"), "cve-libraries": ("nDCG@5", "R@100"), "esco-skills": ("RP@5", "MRR")}
    rows = []
    for method, choices in record["found"]["eurlex57k"].items():
        for choice in choices:
            found = [record["found"].get(data, {}).get(method, {}).get(choice, {}) for data in keys]
            values = [own.get(key) for own, names in zip(found, keys.values(), strict=True) for key in names]
            rows.append([method, choice, *("-" if value is None else f"{100 * value:.1f}" for value in values)])
    columns = ["method", "setting", *(f"{data} {key}" for data, names in keys.items() for key in names)]
    notes = (
        f"At most {record['dev_documents']:,} dev documents of each, one setting changed at a time; the defaults were "
        "chosen by these numbers."
    )
    return f"## Settings without pairs, on dev\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def pair_choices_section() -> str:
    record = read_result("pair_choices")
    if record is None:
        return ""
    rows = []
    for method in CHOICES:
        for choice, values in record["found"].get(method, {}).items():
            rows.append([method, choice, *(f"{100 * value:.1f}" for value in values.values())])
    notes = (
        f"{record['train_documents']:,} training and {record['dev_documents']:,} dev documents of eurlex57k, one "
        "setting changed at a time, one seed, labels ranked as they come (rare_weight 0) unless it says otherwise; the "
        "defaults were chosen by these numbers."
    )
    columns = ["method", "setting", *METRICS]
    return f"## Settings with pairs, on dev\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def label_vectors_section() -> str:
    record = read_result("label-vectors")
    if record is None:
        return ""
    rows = []
    for data, found in record["sets"].items():
        for kind, values in found["kinds"].items():
            numbers = [f"{values[key]:.1f}" for key in ("vector_seconds", "tree_seconds", "megabytes")]
            shares = [
                f"{values['leaves_over_labels']:.3f}",
                *(f"{100 * values[key]:.1f}" for key in ("nDCG@5", "R@100")),
            ]
            rows.append([data, f"{found['labels']:,}", kind, *numbers, *shares])
    columns = ["data", "labels", "vectors", "vectors s", "tree s", "matrix MB", "leaves/labels", "nDCG@5", "R@100"]
    notes = (
        "Vectors of the labels with training pairs, and the tree made from them: leaves of 16 labels. `leaves/labels`: "
        "distinct leaves of a dev document's labels over its labels, less is better; nDCG@5 and R@100 on dev of a "
        "linear ranker down that tree, without matcher-aware negatives. `random`: a tree of labels in any order. The "
        "paper: small dense vectors are more efficient, and make better trees. Here, on eurlex57k, the matrix is far "
        "smaller and the tree is built faster, but learning the vectors takes longer than PIFA and its tree together; "
        "the labels of a document are in more leaves than with PIFA, and the ranker is a little better all the same. "
        "Most labels of wordnet-reverse have one document only: too little for label2vec, whose tree is no better than "
        "chance; PIFA's has fewer leaves and a better R@100, and no better nDCG@5."
    )
    return f"## label2vec beside PIFA\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def peers_section() -> str:
    record = read_result("linear-peers")
    if record is None:
        return ""
    rows = []
    for name, system in record["systems"].items():
        rows.append(
            [
                name,
                *(f"{100 * system[key]:.1f}" for key in ("P@1", "nDCG@5", "PSP@5")),
                f"{system['train_seconds']:.0f}",
                f"{system['documents_per_second']:,.0f}",
                f"{system['plain_documents_per_second']:,.0f}" if "plain_documents_per_second" in system else "",
                f"{system['train_peak_gb']:.2f}",
                f"{system['predict_peak_gb']:.2f}",
                f"{system['model_mb']:.0f}",
            ]
        )
    quality = ["P@1", "nDCG@5", "PSP@5"]
    columns = ["system", *quality, "train s", "docs/s", "docs/s, plain", "train GB", "predict GB", "model MB"]
    speed = ["train_seconds", "documents_per_second", "plain_documents_per_second"]
    keys = [*speed, "train_peak_gb", "predict_peak_gb", "model_mb"]
    ratios = [
        [name, *(f"{values[key]:.1f}" if key in values else "" for key in keys)]
        for name, values in record["ratios"].items()
    ]
    better = ["against", "training", "prediction", "prediction, plain", "train memory", "predict memory", "model size"]
    notes = (
        "eurlex57k, trained on train, measured on test; all systems get the same TF-IDF features, run one after the "
        "other on the same cores, and rank 20 labels with a beam of 10. `pecos` has its defaults (leaves of 100 "
        "labels, equal costs), `pecos-wide` our leaves and costs, with which its nDCG@5 is higher. Training includes "
        "the label tree. PECOS predicts fast from a model that was loaded for prediction only (`docs/s`), and slowly "
        "from one that was just trained or plainly loaded (`docs/s, plain`, on 1,000 documents)."
    )
    return (
        f"## Beside PECOS 1.2.8 and omikuji 0.5.2\n\n{table(columns, rows)}\n\nTimes better (above 1: everylabel is "
        f"faster or smaller):\n\n{table(better, ratios)}\n\n{notes}\n\n{conditions(record)}\n"
    )


def tfidf_section() -> str:
    record = read_result("tfidf-speed")
    if record is None:
        return ""
    rows = [[name, ", ".join(f"{value:.1f}" for value in values)] for name, values in record["seconds"].items()]
    notes = (
        f"{record['documents']:,} documents, {record['columns']:,} columns, {record['values']:,} values; the largest "
        f"difference between the two matrices is {record['largest_difference']:.1e}. "
        f"Ratio of the medians: **{record['ratio']:.1f}**."
    )
    title = "## TF-IDF beside scikit-learn's (one core), three runs in turns"
    return f"{title}\n\n{table(['system', 'seconds'], rows)}\n\n{notes}\n\n{conditions(record)}\n"


def scale_section() -> str:
    records = [record for size in SIZES if (record := read_result(f"scale-{size}")) is not None]
    if not records:
        return ""
    rows = []
    for record in records:
        seconds, scores = record["seconds"], record["scores"]
        rows.append(
            [
                f"{record['labels']:,}",
                f"{record['labels_with_pairs']:,}",
                f"{record['train_documents']:,}",
                *(f"{seconds[step]:.1f}" for step in ("fit", "save", "load")),
                f"{record['microseconds_per_document']:.0f}",
                f"{record['model_mb']:.0f}",
                f"{record['peak_gb']:.2f}",
                *(f"{100 * scores[key]:.1f}" for key in ("P@1", "nDCG@5", "R@100")),
            ]
        )
    sizes = ["labels", "seen", "documents"]
    columns = [*sizes, "fit s", "save s", "load s", "µs/document", "model MB", "peak GB", "P@1", "nDCG@5", "R@100"]
    notes = "xr-linear with its defaults on wordnet-reverse; the same 11,755 texts are ranked at each size."
    return f"## Many labels\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(records[-1])}\n"


def encoding_section() -> str:
    record = read_result("encoding")
    if record is None:
        return ""
    rows = []
    for what in ("titles", "texts"):
        for name, values in record[what].items():
            numbers = [f"{values['texts_per_second']:,.0f}", f"{values['ratio']:.2f}", f"{values['cosine_min']:.4f}"]
            rows.append([what, name, *numbers])
    static = record["static"]
    notes = (
        "eurlex57k test, all-MiniLM-L6-v2, texts cut at 256 tokens; the ratio is the median over eight blocks that all "
        f"encode in turn. Static embeddings: {static['texts_per_second']:,} whole texts a second "
        f"({static['words_per_text']} words each), tokenising included."
    )
    columns = ["of", "encoder", "texts/s", "times as fast", "least cosine"]
    title = "## Encoding beside SentenceTransformer.encode"
    return f"{title}\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def index_section() -> str:
    records = [record for n in (200_000, 1_000_000) if (record := read_result(f"label-index-{n}")) is not None]
    if not records:
        return ""
    rows = []
    for record in records:
        for kind in ("exact", "ann-i8", "ann-f16"):
            if kind in record:
                values = record[kind]
                search = values.get("default", values)
                rows.append(
                    [
                        f"{record['n']:,}",
                        kind,
                        f"{search.get('recall', 1):.3f}",
                        f"{search['batch_per_second']:,.0f}",
                        f"{search['single_ms']:.1f}",
                        f"{values['build']['seconds']:,.0f}",
                        f"{values['memory_mb']:,.0f}",
                        f"{values['file_mb']:,.0f}",
                    ]
                )
    columns = ["vectors", "index", "recall@100", "queries/s", "one query, ms", "build s", "memory MB", "file MB"]
    notes = "\n".join(f"- {record['n']:,}: {note}" for record in records for note in record.get("notes", []))
    text = f"{records[-1]['dim']} dimensions; how the vectors are made and the libraries compared: docs/label_index.md."
    return f"## Label index\n\n{table(columns, rows)}\n\n{text}\n\n{notes}\n\n{conditions(records[-1])}\n"


def main() -> None:
    quality = [tagger_section(), quality_section(), differences_section(), bounds_section(), costs_section()]
    quality += [calibration_section(), choices_section(), pair_choices_section(), label_vectors_section()]
    quality += [collapse_section(), dropped_section(), run_time_section()]
    speed = [peers_section(), tfidf_section(), scale_section(), encoding_section(), index_section()]
    sections = quality + speed
    page = "# Results\n\nWritten by `python -m benchmarks.tables` from the JSON files beside this page.\n\n"
    (RESULTS / "README.md").write_text(page + "\n".join(section for section in sections if section), encoding="utf-8")
    print(f"wrote {RESULTS.name}/README.md")


if __name__ == "__main__":
    main()
