"""A model whose encoders are static is loaded and ranks without torch: that is most of the time of a first text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.encoders import conftest as encoders
from tests.tagger.conftest import Corpus

from everylabel.data.dataset import Dataset
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.maclr.hybrid import Hybrid
from everylabel.tagger.tagger import Tagger

tiny_folder = encoders.made_folder
HEAVY = ("torch", "transformers", "sentence_transformers")
EXPERTS = ("tfidf", "knn", "svm", "semantic", "zestxml", "of-de", "xml0")
PROBE = """
import json, sys
import everylabel
from everylabel.data.dataset import Label
model = everylabel.load(sys.argv[1])
tags = model.tag(["Fishing quotas for the North Sea are cut again"], 5)
model.add_labels([Label("x1", "North Sea fishing quotas")])
found = model.rank(["North Sea fishing quotas"], 5)
loaded = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps([len(tags[0]), sorted(model.experts_), loaded]))
"""


@pytest.fixture(scope="module")
def model(corpus: Corpus, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("without-torch")
    encoder = {"teacher": str(tiny_folder)}
    settings = {name: {"encoder": encoder} for name in ("semantic", "of-de", "xml0")}
    settings["of-de"]["learn"] = {"steps": 3}  # type: ignore[dict-item]
    settings["xml0"]["label_encoder"] = ""  # type: ignore[assignment]
    rows = range(0, len(corpus.train), 3)
    few = Dataset(corpus.train.documents.subset(rows), corpus.train.labels, corpus.train.required_pairs[rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(path / "cache"))
        Tagger(experts=EXPERTS, settings=settings).fit(few).save(path / "model")
    return path


def test_loading_ranking_and_new_labels_need_no_torch(model: Path) -> None:
    command = [sys.executable, "-c", PROBE.format(heavy=HEAVY), str(model / "model")]
    environment = {**os.environ, "EVERYLABEL_CACHE": str(model / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    n_tags, experts, loaded = json.loads(done.stdout.splitlines()[-1])
    assert n_tags == 5
    assert experts == sorted(EXPERTS)
    assert loaded == []


SERVED = """
import json, sys
import everylabel
from everylabel.web.serving import warm_up
model = everylabel.load(sys.argv[1])
warm_up(model)
found = model.rank(json.loads(sys.argv[2]), 9)
loaded = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps([found.ids.tolist(), found.scores.tobytes().hex(), loaded]))
"""


def test_a_model_with_an_exported_transformer_is_served_without_torch(
    corpus: Corpus, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16, onnx=True)
    model = Hybrid(encoder=encoder, learned_weight=0.0).fit(corpus.train)
    model.save(tmp_path / "model")
    texts = ["Fishing quotas for the North Sea are cut again", "milk " * 50, ""]
    command = [sys.executable, "-c", SERVED.format(heavy=HEAVY), str(tmp_path / "model"), json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = model.rank(texts, 9)
    assert json.loads(done.stdout) == [found.ids.tolist(), found.scores.tobytes().hex(), []]
