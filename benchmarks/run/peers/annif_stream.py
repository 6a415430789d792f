"""Annif's projects, asked and taught line by line (runs in an environment of its own, with annif[nn,omikuji]).

python annif_stream.py PROJECT, in a folder with projects.cfg. A line of JSON in, {"rank": texts, "k": k} or {"learn":
[{"text", "subjects"}]}, a line out: for each text the addresses of its subjects with their scores, best first, or null.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import annif  # type: ignore[import-not-found]
from annif.corpus import Document, DocumentList, SubjectSet  # type: ignore[import-not-found]
from annif.registry import get_project  # type: ignore[import-not-found]


def ranked(project: Any, texts: list[str], k: int) -> list[list[tuple[str, float]]]:
    found = []
    for first in range(0, len(texts), 32):
        batch = project.suggest([Document(text=text) for text in texts[first : first + 32]])
        for result in batch.filter(limit=k):
            best = sorted(result, key=lambda one: -one.score)
            found.append([(project.subjects[one.subject_id].uri, float(one.score)) for one in best])
    return found


def learn(project: Any, documents: list[dict[str, Any]]) -> None:
    known = [[project.subjects.by_uri(uri) for uri in one["subjects"]] for one in documents]
    pairs = zip(documents, known, strict=True)
    corpus = [
        Document(text=one["text"], subject_set=SubjectSet([at for at in ids if at is not None])) for one, ids in pairs
    ]
    project.learn(DocumentList(corpus))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    with annif.create_flask_app().app_context():
        project = get_project(sys.argv[1])
        for line in sys.stdin:
            asked = json.loads(line)
            found = None
            if "rank" in asked:
                found = ranked(project, asked["rank"], asked["k"])
            else:
                learn(project, asked["learn"])
            answers.write(json.dumps(found) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
