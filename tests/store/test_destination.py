"""Where a model may be written: only a model of ours is replaced, and what others put into its folder stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.conftest import fitted, same_as_fitted
from tests.store.test_lock import environment

import everylabel
from everylabel.data.dataset import Label
from everylabel.errors import ModelError
from everylabel.store import check_destination

MOMENTS = ("writing", "carrying", "exchanged", "between two renames", "two renames", "done")
KILLED = """
import os, signal, sys
from pathlib import Path
import everylabel
from everylabel import atomic
from everylabel.data.dataset import Label
from everylabel.store import write

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def then_killed(usual):
    def work(*arguments):
        usual(*arguments)
        killed()
    return work

def save(path, moment):
    if "two renames" in moment:
        atomic._renameat2 = lambda: None
    if moment == "writing":
        write.write_manifest = killed
    elif moment == "carrying":
        atomic.carry = then_killed(atomic.carry)
    elif moment == "exchanged":
        atomic.exchange = then_killed(atomic.exchange)
    elif moment == "between two renames":
        Path.rename = then_killed(Path.rename)
    else:
        atomic.remove = killed
    everylabel.load(path).add_labels([Label("new", "A new one")]).save(path)

for place in sys.argv[1:]:
    if not (child := os.fork()):
        save(place, Path(place).parent.name)
        os._exit(0)
    print(-os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture
def card(model: Path) -> Path:
    """A model with a card and a history."""
    add_card(model)
    return model


def add_card(model: Path) -> None:
    (model / ".git").mkdir()
    (model / ".git" / "HEAD").write_text("main")
    (model / "README.md").write_text("a card")
    (model / "arrays" / "notes.txt").write_text("mine")


def has_card(model: Path) -> bool:
    found = {name: (model / name).read_text() for name in (".git/HEAD", "README.md", "arrays/notes.txt")}
    return found == {".git/HEAD": "main", "README.md": "a card", "arrays/notes.txt": "mine"}


def test_what_others_put_into_a_model_stays(card: Path) -> None:
    everylabel.load(card).add_labels([Label("new", "A new one")]).save(card)
    assert has_card(card)
    assert everylabel.load(card).labels_.index["new"] == 4
    fitted().save(card)
    assert has_card(card)
    assert same_as_fitted(card)
    ours = ["arrays", "manifest.json", "plain.json"]
    assert sorted(path.name for path in card.iterdir()) == [".git", "README.md", *ours]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder a moment, with a model that was saved anew until that moment."""
    folder = tmp_path_factory.mktemp("killed")
    places = [folder / moment / "model" for moment in MOMENTS]
    for place in places:
        fitted().save(place)
        add_card(place)
    script = [sys.executable, "-c", KILLED, *map(str, places)]
    done = subprocess.run(script, check=True, env=environment(), capture_output=True, text=True)
    assert done.stdout.split() == [str(int(signal.SIGKILL))] * len(MOMENTS), done.stderr
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such signal")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_save_that_is_killed_loses_nothing(killed: Path, moment: str) -> None:
    """At any moment: the old model or the new one, with all that others put there; and the next save clears up."""
    model = killed / moment / "model"
    assert len(list(model.parent.iterdir())) > 1
    found = everylabel.load(model)
    assert ("new" in found.labels_.index) == (moment in ("exchanged", "two renames", "done"))
    assert has_card(model)
    found.save(model)
    assert has_card(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def truncated(path: Path) -> None:
    os.truncate(path / "manifest.json", 200)


def other_format(number: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        manifest = json.loads((path / "manifest.json").read_text())
        (path / "manifest.json").write_text(json.dumps(manifest | {"format": number}, indent=2, sort_keys=True))

    return change


def without_a_file(path: Path) -> None:
    (path / "plain.json").unlink()


@pytest.mark.parametrize("change", [truncated, other_format(1), other_format(99), without_a_file])
def test_a_model_that_cannot_be_read_may_be_replaced(card: Path, change: Callable[[Path], None]) -> None:
    change(card)
    with pytest.raises(ModelError):
        everylabel.load(card)
    check_destination(card)
    fitted().save(card)
    assert same_as_fitted(card)
    assert has_card(card)


def test_files_of_an_earlier_version_go_with_it(card: Path) -> None:
    (card / "labels.json").write_text("[]")
    manifest = {"format": 1, "everylabel": "0.1.0", "files": {"labels.json": {}, "old/index.ann": {}}}
    (card / "manifest.json").write_text(json.dumps(manifest))
    (card / "old").mkdir()
    (card / "old" / "index.ann").write_text("")
    fitted().save(card)
    assert not (card / "labels.json").exists()
    assert not (card / "old").exists()
    assert has_card(card)


@pytest.mark.parametrize(
    "content", ["{}", "[]", "", "no JSON", '{"name": "an app"}', '{"format": true, "everylabel": "1"}', '{"format": 2}']
)
def test_a_folder_with_another_manifest_is_no_model(tmp_path: Path, content: str) -> None:
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "src" / "app.py").write_text("years of work")
    (app / "manifest.json").write_text(content)
    for work in (lambda: check_destination(app), lambda: fitted().save(app)):
        with pytest.raises(ModelError, match=f"^{app}: exists and is not a model; nothing was written"):
            work()
    assert (app / "src" / "app.py").read_text() == "years of work"
    assert (app / "manifest.json").read_text() == content
    assert [path.name for path in tmp_path.iterdir()] == ["app"]


def test_what_stands_in_the_way_is_named(card: Path) -> None:
    (card / "plain.json").unlink()
    (card / "plain.json").mkdir()
    with pytest.raises(ModelError, match=r"plain\.json: cannot be written \(is a folder in the place of one of ours"):
        check_destination(card)


def test_a_place_where_nothing_can_be_written_is_an_error(unwritable: Path) -> None:
    for work in (lambda: check_destination(unwritable / "m"), lambda: fitted().save(unwritable / "m")):
        with pytest.raises(ModelError, match=rf"^{unwritable / 'm'}: cannot be written \(.*nothing was changed"):
            work()


def test_nothing_is_written_to_in_its_place(card: Path) -> None:
    """Who has mapped the old files would be ended by the system (SIGBUS) if one got shorter."""
    before = {file: (file.open("rb"), file.read_bytes()) for file in card.rglob("*") if file.is_file()}
    everylabel.load(card).add_labels([Label("new", "A new one")]).save(card)
    for stream, content in before.values():
        with stream:
            assert stream.read() == content
    assert (card / "manifest.json").read_bytes() != before[card / "manifest.json"][1]
