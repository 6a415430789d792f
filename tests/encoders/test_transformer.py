"""Transformers against sentence-transformers itself, their folders, and what is refused."""

from __future__ import annotations

import json
import logging
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from everylabel.encoders import pretrained
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.encoders.pretrained import load_sentence_transformer
from everylabel.encoders.tokenizer import TextTokenizer
from everylabel.encoders.transformer import TransformerEncoder, batches
from everylabel.errors import ConfigError, ModelError

TEXTS = ["fish in the sea", "customs law of the european union, 1 2 3.", "milk", "trading ships " * 60, "Éü [SEP] x"]


def load(folder: Path, **settings: object) -> TransformerEncoder:
    return TransformerEncoder.load(EncoderConfig(kind=str(folder), cache=False, **settings))  # type: ignore[arg-type]


def test_parity_with_sentence_transformers(made_folder: Path) -> None:
    theirs = load_sentence_transformer(made_folder).encode(TEXTS, show_progress_bar=False)
    assert (load(made_folder).encode(TEXTS) * theirs).sum(axis=1).min() > 0.99999


def test_parity_of_minilm_in_torch_and_int8() -> None:
    pytest.importorskip("onnxruntime")
    texts = ["Fisheries policy of the European Union", "Milk quotas and the price of butter in 1984", "", "wine"]
    model = load_sentence_transformer(pretrained.find_folder("minilm"))
    theirs = model.encode(texts, show_progress_bar=False)
    plain = load_encoder(EncoderConfig(kind="minilm", cache=False)).encode(texts)
    small = load_encoder(EncoderConfig(kind="minilm", cache=False, onnx=True)).encode(texts)
    full = [0, 1, 3]
    assert (plain * theirs).sum(axis=1)[full].min() > 0.99999
    assert (small * theirs).sum(axis=1)[full].min() > 0.99
    assert not small[2].any()


def test_int8_vectors_do_not_depend_on_the_batch(made_folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    encoder = load(made_folder, onnx=True)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-6)


def test_int8_is_kept_and_a_damaged_file_is_made_again(
    made_folder: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    vectors = load(made_folder, onnx=True).encode(TEXTS)
    (file,) = (cache_folder / "onnx").glob("*.onnx")
    file.write_bytes(file.read_bytes()[:1000])
    np.testing.assert_array_equal(load(made_folder, onnx=True).encode(TEXTS), vectors)
    monkeypatch.setattr("everylabel.encoders.onnx_export.export", None)  # from the cache from now on
    encoder = load(made_folder, onnx=True)
    np.testing.assert_array_equal(encoder.encode(TEXTS), vectors)
    assert (vectors * load(made_folder).encode(TEXTS)).sum(axis=1).min() > 0.98
    with torch.no_grad():
        next(encoder.module.transformer.parameters()).mul_(1.5)
    other = load(made_folder)
    other.module.load_state_dict(encoder.module.state_dict())
    np.testing.assert_array_equal(encoder.encode(TEXTS), other.encode(TEXTS))  # trained: int8 is no longer it


def test_exporting_leaves_the_logging_and_the_warnings_of_others_alone(made_folder: Path) -> None:
    """Other threads log and warn while a model is exported: all of it is heard, and nothing is left behind."""
    pytest.importorskip("onnxruntime")
    from everylabel.encoders import onnx_export as onnx

    root, heard = logging.getLogger(), []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    before = [root.manager.disable, root.level, list(root.handlers), list(warnings.filters)]
    transformer, usual, inside = load(made_folder).module.transformer, onnx._fuse, []  # type: ignore[var-annotated]

    def fuse(*args: object) -> None:
        def other() -> None:
            logging.getLogger("somebody").error("said")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.warn("of another thread", UserWarning, stacklevel=1)
            inside.extend(str(warning.message) for warning in caught)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        inside.append(root.manager.disable)
        usual(*args)  # type: ignore[arg-type]

    root.addHandler(handler)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(onnx, "_fuse", fuse)
            assert onnx.export(transformer)
    finally:
        root.removeHandler(handler)
    assert heard == ["said"]
    assert inside == ["of another thread", before[0]]
    assert [root.manager.disable, root.level, list(root.handlers), list(warnings.filters)] == before
    with pytest.warns(UserWarning, match="of this thread"):
        warnings.warn("of this thread", UserWarning, stacklevel=1)


def test_warnings_are_silent_in_one_thread_only(recwarn: pytest.WarningsRecorder) -> None:
    from everylabel.encoders import onnx_export as onnx

    def other() -> None:
        warnings.warn("heard", UserWarning, stacklevel=1)

    warnings.simplefilter("always")
    with onnx._silent():
        warnings.warn("not heard", UserWarning, stacklevel=1)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert [str(warning.message) for warning in recwarn] == ["heard"]


def test_states_agree_with_mean_pooling(made_folder: Path) -> None:
    encoder = load(made_folder)
    tokens = encoder.tokenize(TEXTS)
    with torch.no_grad():
        states, mask = encoder.module.states(tokens)
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        torch.testing.assert_close(mean, encoder.module.eval()(tokens))
    np.testing.assert_array_equal(mask.sum(1), tokens.lengths + 2)


def test_texts_are_cut_with_their_special_tokens(made_folder: Path) -> None:
    encoder = load(made_folder, max_tokens=6)
    padded = encoder.module.pad(encoder.tokenizer(["fish in the sea and wine", "milk"]))
    vocabulary = encoder.tokenizer.vocabulary
    words = ["[CLS]", "fish", "in", "the", "sea", "[SEP]"]
    np.testing.assert_array_equal(padded.ids[0], [vocabulary[word] for word in words])
    np.testing.assert_array_equal(padded.mask.sum(axis=1), [6, 3])


def test_no_more_tokens_than_positions(made_folder: Path) -> None:
    assert load(made_folder, max_tokens=4000).module.limit == 64


def test_batches_keep_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(0, 254, 500)
    found = list(batches(lengths, 1024))
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(500))
    assert max(len(rows) * (lengths[rows].max() + 2) for rows in found) <= 1024


@pytest.mark.parametrize("kind", ["no-such/model", "no_such_model", "./no/such/folder", "C:\\models\\x y"])
def test_an_unknown_model_names_what_works_offline(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    begun = time.perf_counter()
    with pytest.raises(ConfigError, match="'static', 'minilm', or a folder"):
        load_encoder(EncoderConfig(kind=kind))
    assert time.perf_counter() - begun < 2


def test_folders_without_safe_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="is no model"):
        load(tmp_path / "empty")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="unpickling runs code"):
        load(folder)


def test_wrong_weights_of_minilm_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ModelError, match="force-reinstall"):
        pretrained.check_weights(tmp_path / "model.safetensors", pretrained.MINILM_SHA256)


def test_a_missing_package_names_the_extra() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'everylabel\[neural\]'"):
        pretrained.needed("no_such_module")


def test_words_tokenise_as_whole_texts(made_folder: Path) -> None:
    texts = [
        *TEXTS,
        "a\x0cb\x1cc\x85d\x0be",
        "fish\u00a0sea\u2028law\u3000tax\u200bx",
        "北京 fish北",
        "a\u0301 b",
        "x" * 300,
    ]
    by_word = TextTokenizer((made_folder / "tokenizer.json").read_text(encoding="utf-8"))
    whole = TextTokenizer(by_word.json)
    whole._by_word = False
    assert by_word._by_word
    for cut in (None, 3):
        ours, theirs = by_word(texts, cut), whole(texts, cut)
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_array_equal(ours.offsets, theirs.offsets)


def test_cutting_reads_on_over_words_without_tokens(made_folder: Path) -> None:
    tokenizer = TextTokenizer((made_folder / "tokenizer.json").read_text(encoding="utf-8"))
    np.testing.assert_array_equal(tokenizer(["\u200b \u200b fish sea law", "milk"], 2).lengths, [2, 1])


def in_half(folder: Path) -> Path:
    """The same model with weights of bfloat16."""
    from safetensors.torch import load_file, save_file

    file, settings = next(folder.rglob("model.safetensors")), next(folder.rglob("config.json"))
    weights = {name: weight.to(torch.bfloat16) for name, weight in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    known = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps(known | {"dtype": "bfloat16"}), encoding="utf-8")
    return folder


def test_weights_that_are_not_trained_have_their_own_precision(folder: Path) -> None:
    kind = str(in_half(folder))
    trained, frozen = (TransformerEncoder.load(EncoderConfig(kind=kind, trainable=asked)) for asked in (True, False))
    types = [{weight.dtype for weight in encoder.module.transformer.parameters()} for encoder in (trained, frozen)]
    assert types == [{torch.float32}, {torch.bfloat16}]
    assert trained.fingerprint == frozen.fingerprint  # the same numbers
    exact, rough = trained.encode(TEXTS), frozen.encode(TEXTS)
    assert rough.dtype == np.float32
    np.testing.assert_allclose(rough, exact, atol=0.05)
    assert not np.array_equal(rough, exact)
