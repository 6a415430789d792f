"""How fast `rank` is without a server: python -m benchmarks.run.serving_rank MODEL DOCUMENTS ALONE CLIENTS

All DOCUMENTS (a file of JSON lines: text, title) once without a clock, then in batches of 256, in batches of as many as
there are CLIENTS, and the first ALONE of them one at a time, with a word more each time. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import everylabel
from benchmarks.run.serving_corpus import marked, read_documents
from everylabel.web.serving import warm_up

BATCH = 256  # as workflow/tag.py has it
K = 10


def main() -> None:
    model, file = everylabel.load(sys.argv[1]).model_, Path(sys.argv[2])
    n_alone, n_clients = (int(own) for own in sys.argv[3:])
    warm_up(model)
    documents = read_documents(file)
    for part in marked(documents, "warm").slices(BATCH):
        model.rank(part, K)
    rates = {}
    for size in (BATCH, n_clients):
        asked = marked(documents, f"by {size}")
        begun = time.perf_counter()
        for part in asked.slices(size):
            model.rank(part, K)
        rates[size] = round(len(asked) / (time.perf_counter() - begun), 1)
    single = marked(documents.subset(range(min(n_alone, len(documents)))), "alone")
    alone = []
    for i in range(len(single)):
        document = single.subset([i])
        begun = time.perf_counter()
        model.rank(document, K)
        alone.append(round(time.perf_counter() - begun, 6))
    print(json.dumps({"rate": rates[BATCH], "rate_by_clients": rates[n_clients], "alone": alone}))


if __name__ == "__main__":
    main()
