"""Models on a model hub (Hugging Face's, or one that speaks its language: HF_ENDPOINT): sent, and fetched.

Sent are the files of the model and its card, nothing else of its folder, in one commit. Fetched are the files that its
manifest lists, and its card; they are checked as a model from anywhere is before they take their place: names, sizes,
checksums, all that kernels index by. No code is run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from everylabel.errors import ConfigError, ModelError
from everylabel.store import MANIFEST, check, load, read_manifest
from everylabel.store.card import CARD, is_free
from everylabel.store.write import replacing

if TYPE_CHECKING:
    from huggingface_hub import HfApi

T = TypeVar("T")
MOST_CARD = 1 << 20  # bytes


class Pushed(NamedTuple):
    url: str
    commit: str
    files: int
    bytes: int


class Pulled(NamedTuple):
    method: str
    labels: int
    commit: str
    files: int
    bytes: int


def push(
    model: str | Path, repo: str, *, private: bool = True, revision: str | None = None, message: str = ""
) -> Pushed:
    """The model into a repository, which is made if there is none (`private` then). Every byte is checked first."""
    api, folder = _api(), Path(model)
    found, manifest = check(folder), read_manifest(folder)
    load(folder)
    names = [MANIFEST, *sorted(manifest["files"])]
    card = folder / CARD
    if card.is_file() and not card.is_symlink():
        names.append(CARD)
    said = message or f"{manifest['method']}: {manifest['n_labels']:,} labels, {manifest['n_train']:,} documents"
    url = _asked(repo, lambda: api.create_repo(repo, private=private, exist_ok=True))
    done = _asked(
        repo,
        lambda: api.upload_folder(
            repo_id=repo,
            folder_path=folder,
            allow_patterns=names,
            delete_patterns="arrays/*",  # those that this model does not have; the others stay where they are
            commit_message=said,
            revision=revision,
        ),
    )
    return Pushed(str(url), done.oid, len(names), found.bytes)


def pull(repo: str, place: str | Path, *, revision: str | None = None, overwrite: bool = True) -> Pulled:
    """The model of a repository into a folder, whole and checked, or not at all."""
    api = _api()
    from huggingface_hub import hf_hub_download, snapshot_download

    commit = str(_asked(repo, lambda: api.model_info(repo, revision=revision)).sha)
    with replacing(place, overwrite=overwrite) as (fresh, target):
        _asked(repo, lambda: hf_hub_download(repo, MANIFEST, revision=commit, local_dir=fresh))
        names = [MANIFEST, *read_manifest(fresh)["files"], CARD]
        _asked(repo, lambda: snapshot_download(repo, revision=commit, allow_patterns=names, local_dir=fresh))
        _keep(fresh, {*names} if is_free(target / CARD) else {*names} - {CARD})
        found, method = check(fresh), load(fresh)
        return Pulled(method.name, len(method.labels_), commit, found.files, found.bytes)


def _keep(folder: Path, names: set[str]) -> None:
    """These files, and nothing that was put beside them."""
    for file in sorted(folder.rglob("*"), reverse=True):
        name = file.relative_to(folder).as_posix()
        too_large = name == CARD and file.is_file() and file.stat().st_size > MOST_CARD
        if file.is_symlink() or (file.is_file() and (name not in names or too_large)):
            file.unlink()
    for file in folder.iterdir():
        if file.is_dir() and not any(name.startswith(f"{file.name}/") for name in names):
            shutil.rmtree(file)


def _api() -> HfApi:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise ConfigError(f"a model hub needs huggingface_hub ({error}): pip install 'everylabel[hub]'") from None
    return HfApi(library_name="everylabel")


def _asked(repo: str, ask: Callable[[], T]) -> T:
    """What a hub refuses, or does not have, in one line: its errors are of many kinds."""
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError

    try:
        return ask()
    except EntryNotFoundError:
        raise ModelError(f"{repo}: is no model of everylabel (there is no {MANIFEST}); nothing was written") from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"{repo}: there is no such repository, or it is private and you are not logged in: hf auth login, or "
            "HF_TOKEN"
        ) from None
    except HfHubHTTPError as error:
        raise ModelError(f"{repo}: the hub refused ({_short(error)}); log in (hf auth login, or HF_TOKEN)") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{repo}: the hub could not be asked ({_short(error)}); try again later") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise ModelError(f"{repo}: the hub cannot be reached ({_short(error)}); try again later") from None
        raise


def _short(error: Any) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
