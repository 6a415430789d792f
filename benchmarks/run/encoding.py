"""Encoding of eurlex57k's titles and texts: ours, in torch and in int8, beside SentenceTransformer.encode, in one run.

python -m benchmarks.run.encoding --data DIR [--texts 256] [--titles 1024] [--long 5000]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import write_result
from benchmarks.run.command import data_folder, data_parser
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.encoders.pretrained import find_folder, load_sentence_transformer

BLOCKS = 8  # of texts, each encoded by all in turn, so that a busy moment of the machine hits all
Encode = Callable[[list[str]], Any]


def compare(runs: dict[str, Encode], texts: list[str]) -> dict[str, Any]:
    """Texts a second, times as fast as the first (median over the blocks), and cosine with the first."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    cosines: dict[str, list[Any]] = {name: [] for name in runs}
    for encode in runs.values():
        encode(texts[:2])
    blocks = [texts[first::BLOCKS] for first in range(BLOCKS)]
    for block in blocks:
        vectors = {}
        for name, encode in runs.items():
            begun = time.perf_counter()
            vectors[name] = encode(block)
            seconds[name].append(time.perf_counter() - begun)
        first = vectors[next(iter(runs))]
        for name in runs:
            cosines[name].append((vectors[name] * first).sum(axis=1))
    base = seconds[next(iter(runs))]
    found: dict[str, Any] = {}
    for name in runs:
        cosine = np.concatenate(cosines[name])
        ratios = [theirs / ours for theirs, ours in zip(base, seconds[name], strict=True)]
        found[name] = {
            "texts_per_second": round(len(texts) / sum(seconds[name]), 1),
            "ratio": round(statistics.median(ratios), 2),
            "ratio_of_totals": round(sum(base) / sum(seconds[name]), 2),
            "cosine_mean": round(float(cosine.mean()), 5),
            "cosine_min": round(float(cosine.min()), 5),
        }
        print(f"  {name}: {found[name]}", flush=True)
    return found


def static_speed(texts: Sequence[str]) -> dict[str, Any]:
    """Whole texts, tokenising included; the tokeniser's memory of words is empty at first."""
    encoder = load_encoder(EncoderConfig())
    encoder.encode(["loads the compiled kernels"])
    begun = time.perf_counter()
    encoder.tokenize(texts)
    tokenising = time.perf_counter() - begun
    encoder = load_encoder(EncoderConfig())
    begun = time.perf_counter()
    encoder.encode(texts)
    whole = time.perf_counter() - begun
    found = {
        "texts": len(texts),
        "words_per_text": round(sum(len(text.split()) for text in texts) / len(texts)),
        "texts_per_second": round(len(texts) / whole),
        "texts_per_second_tokenising": round(len(texts) / tokenising),
    }
    print(f"  static: {found}", flush=True)
    return found


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--titles", type=int, default=1024, help="how many titles")
    parser.add_argument("--texts", type=int, default=256, help="how many texts, of 256 tokens")
    parser.add_argument("--long", type=int, default=5000, help="how many whole texts for the static encoder")
    parser.add_argument("--dry", action="store_true", help="write no result")
    arguments = parser.parse_args()
    documents = everylabel.load_dataset(data_folder(arguments.data) / "eurlex57k", "test").documents
    order = np.random.default_rng(0).permutation(len(documents))
    model = load_sentence_transformer(find_folder("minilm"))
    torch = load_encoder(EncoderConfig(kind="minilm", cache=False))
    int8 = load_encoder(EncoderConfig(kind="minilm", cache=False, onnx=True))
    runs: dict[str, Encode] = {
        "SentenceTransformer.encode": model.encode,
        "everylabel": torch.encode,
        "everylabel int8": int8.encode,
    }
    values: dict[str, Any] = {"data": "eurlex57k test", "model": "all-MiniLM-L6-v2"}
    values["libraries"] = {name: metadata.version(name) for name in ("torch", "sentence-transformers", "onnxruntime")}
    print(f"{arguments.titles} titles", flush=True)
    values["titles"] = compare(runs, [documents.titles[i] for i in order[: arguments.titles]])
    print(f"{arguments.texts} texts of at most 256 tokens", flush=True)
    values["texts"] = compare(runs, [documents.full_texts[i] for i in order[: arguments.texts]])
    values["static"] = static_speed([documents.full_texts[i] for i in order[: arguments.long]])
    if not arguments.dry:
        write_result("encoding", values, "python -m benchmarks.run.encoding")


if __name__ == "__main__":
    main()
