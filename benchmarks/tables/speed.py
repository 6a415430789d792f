"""results/pages/speed.md, everylabel beside other systems: python -m benchmarks.tables.speed"""

from __future__ import annotations

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, percent, section, table


def peers_section(name: str = "linear-peers") -> str:
    record = read_result(name)
    if record is None:
        return ""
    corpus = record.get("corpus", "eurlex57k")
    metrics = ("P@1", "nDCG@5", "PSP@5")
    measures = {
        "train_seconds": ("train s", ".0f", "training"),
        "documents_per_second": ("docs/s", ",.0f", "prediction"),
        "plain_documents_per_second": ("docs/s, plain", ",.0f", "prediction, plain"),
        "train_peak_gb": ("train GB", ".2f", "train memory"),
        "predict_peak_gb": ("predict GB", ".2f", "predict memory"),
        "model_mb": ("model MB", ".0f", "model size"),
    }
    rows = [
        [
            name,
            *(percent(system[key]) for key in metrics),
            *(format(system[key], digits) if key in system else "" for key, (_, digits, _) in measures.items()),
        ]
        for name, system in record["systems"].items()
    ]
    ratios = [
        [name, *(f"{values[key]:.1f}" if key in values else "" for key in measures)]
        for name, values in record["ratios"].items()
    ]
    notes = (
        f"{corpus}, trained on train, measured on test; all systems get the same TF-IDF features, run one after the "
        "other on the same cores, and rank 20 labels with a beam of 10. `pecos` has its defaults (leaves of 100 "
        "labels, equal costs), `pecos-wide` our leaves and costs. Training includes the label tree. PECOS predicts "
        "fast from a model that was loaded for prediction only (`docs/s`), and slowly from one that was just trained "
        "or plainly loaded (`docs/s, plain`, on 1,000 documents)."
    )
    return section(
        f"Beside PECOS 1.2.8 and omikuji 0.5.2: {corpus}",
        table(["system", *metrics, *(name for name, _, _ in measures.values())], rows),
        "Times better (above 1: everylabel is faster or smaller):",
        table(["against", *(better for _, _, better in measures.values())], ratios),
        notes,
        conditions(record),
    )


def german_section() -> str:
    return peers_section("linear-peers-tibkat-de")


def many_labels_section() -> str:
    return peers_section("linear-peers-wiktionary-translations")


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
    title = "TF-IDF beside scikit-learn's (one core), three runs in turns"
    return section(title, table(["system", "seconds"], rows), notes, conditions(record))


def encoding_section() -> str:
    record = read_result("encoding")
    if record is None:
        return ""
    rows = [
        [what, name, f"{one['texts_per_second']:,.0f}", f"{one['ratio']:.2f}", f"{one['cosine_min']:.4f}"]
        for what in ("titles", "texts")
        for name, one in record[what].items()
    ]
    static = record["static"]
    notes = (
        "eurlex57k test, all-MiniLM-L6-v2, texts cut at 256 tokens; the ratio is the median over eight blocks that all "
        f"encode in turn. Static embeddings: {static['texts_per_second']:,} whole texts a second "
        f"({static['words_per_text']} words each), tokenising included."
    )
    columns = ["of", "encoder", "texts/s", "times as fast", "least cosine"]
    title = "Encoding beside SentenceTransformer.encode"
    return section(title, table(columns, rows), notes, conditions(record))


PAGE = Page(
    module="speed",
    title="Speed beside other systems",
    about="The linear ranker beside PECOS and omikuji, TF-IDF beside scikit-learn's, encoding beside its library.",
    runs=("linear_peers", "tfidf_speed", "encoding"),
    sections=(peers_section, german_section, many_labels_section, tfidf_section, encoding_section),
)

if __name__ == "__main__":
    PAGE.write()
