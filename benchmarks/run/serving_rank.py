"""How fast `rank` is without a server: python -m benchmarks.run.serving_rank MODEL DOCUMENTS ALONE

All DOCUMENTS (a file of JSON lines: text, title) in batches of 256, then the first ALONE of them one at a time, each
with a word more. Prints JSON.
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
    model, file, n_alone = everylabel.load(sys.argv[1]).model_, Path(sys.argv[2]), int(sys.argv[3])
    warm_up(model)
    documents = read_documents(file)
    begun = time.perf_counter()
    for part in documents.slices(BATCH):
        model.rank(part, K)
    seconds = time.perf_counter() - begun
    single = marked(documents.subset(range(min(n_alone, len(documents)))), "alone")
    alone = []
    for i in range(len(single)):
        document = single.subset([i])
        begun = time.perf_counter()
        model.rank(document, K)
        alone.append(round(time.perf_counter() - begun, 6))
    print(json.dumps({"documents": len(documents), "seconds": round(seconds, 3), "alone": alone}))


if __name__ == "__main__":
    main()
