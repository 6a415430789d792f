"""Presets: of every registered method that has some, and how they are asked for, by a method that is made for it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

import everylabel
from everylabel import config
from everylabel.cli.app import app
from everylabel.errors import ConfigError
from everylabel.methods.traits import method
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.registry import METHODS, method_class, method_classes
from everylabel.workflow.settings import configured

PRESETS = [(cls.name, name) for cls in method_classes() for name in cls.presets]


@method("near", "nearest neighbours of a paper")
class Near(NearestNeighbours):
    """Nearest neighbours.

    Deviations:
    - of a kind
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"neighbours": 7, "tfidf": {"ngrams": 2, "sublinear": False}},
        "paper:eurlex-4k": {"tfidf": {"ngrams": 3}},
        "paper:wiki10-31k": {},
    }


@method("nearer", "a member of its family")
class Nearer(Near):
    """Another docstring, the same deviations."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "near", Near)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_every_preset_of_every_method_is_one_that_works(name: str, preset: str) -> None:
    built = everylabel.method(name, preset=preset)  # a setting that does not exist is an error
    built.check()
    cls, (general, _, of_data) = method_class(name), preset.partition(":")
    assert preset == preset.lower()
    assert general in cls.presets
    assert of_data or preset == general
    assert cls.deviations()
    found, own = config.flat(config.to_dict(built)), config.flat(cls.presets[preset])
    expected = config.flat(cls.presets[general]) | own
    assert {key: found[key] for key in expected} == _plain(expected)
    rest = {key: value for key, value in config.flat(config.to_dict(cls())).items() if key not in expected}
    assert {key: found[key] for key in rest} == rest
    assert json.loads(json.dumps(cls.preset(preset))) == _plain(cls.preset(preset))  # as a file can have it


def test_a_data_set_s_preset_is_put_on_the_general_one() -> None:
    paper, of_data, same = (everylabel.method("near", preset=name) for name in Near.presets)
    assert same == paper
    assert config.changed(config.to_dict(paper), config.to_dict(Near())) == {
        "neighbours": 7,
        "tfidf.ngrams": 2,
        "tfidf.sublinear": False,
    }
    assert config.changed(config.to_dict(of_data), config.to_dict(paper)) == {"tfidf.ngrams": 3}


def test_what_is_set_wins_over_a_preset(tmp_path: Path) -> None:
    python = everylabel.method("near", preset="paper", neighbours=9, tfidf={"min_df": 2})
    assert isinstance(python, Near)
    assert (python.neighbours, python.tfidf.ngrams, python.tfidf.min_df) == (9, 2, 2)
    file = tmp_path / "settings.toml"
    file.write_text('method = "near"\npreset = "paper"\nneighbours = 8\n')
    assert configured(None, file, ["tfidf.min_df=2"]) == everylabel.method(
        "near", preset="paper", neighbours=8, tfidf={"min_df": 2}
    )
    assert configured(None, file, preset="paper:eurlex-4k") == everylabel.method(
        "near", preset="paper:eurlex-4k", neighbours=8
    )


def test_presets_that_are_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"no preset 'papr'; did you mean 'paper'.* there are: paper, paper:eurlex-4k"
    ):
        everylabel.method("near", preset="papr")
    with pytest.raises(ConfigError, match="method 'svm' has no preset 'paper'; it has none"):
        configured("svm", preset="paper")
    with pytest.raises(ConfigError, match="preset must be a preset's name such as 'paper'; got 3"):
        configured("near", settings=["preset=3"])


def test_the_deviations_are_the_class_s_or_its_parent_s() -> None:
    assert Near.deviations() == Nearer.deviations() == "- of a kind"
    assert NearestNeighbours.deviations() == ""


def test_deviations_say_what_they_refer_to(monkeypatch: pytest.MonkeyPatch) -> None:
    @method("like-near", "one that refers to its parent")
    class LikeNear(Near):
        """Deviations: those of `near`; and another
        over two lines."""

    @method("as-near", "one that only refers")
    class AsNear(LikeNear):
        """Deviations: those of `like-near`."""

    @method("hardly-near", "one that has some of them")
    class HardlyNear(LikeNear):
        """Deviations: those of `like-near` but "of a", "None".
        - One more."""

    assert LikeNear.deviations() == AsNear.deviations() == "- of a kind\n- Another\nover two lines."
    assert HardlyNear.deviations() == "- Another\nover two lines.\n- One more."
    monkeypatch.setattr(sys.modules[__name__], "__doc__", "A file.\n\nDeviations:\n- of the file,\n  both\nCost: none.")
    plain: Any = type("Plain", (NearestNeighbours,), {"__module__": __name__})  # its file alone says it
    assert plain.deviations() == "- of the file,\n  both"


@pytest.mark.parametrize("name", [cls.name for cls in method_classes()])
def test_deviations_can_be_read_on_the_command_line(name: str) -> None:
    """Nothing there is only said to be elsewhere."""
    said = method_class(name).deviations()
    assert not re.search(r"(those|that) of `|the file above|\bas `", said)
    assert all(line.startswith(("- ", "  ")) for line in said.splitlines())


@pytest.mark.parametrize("cls", method_classes(), ids=lambda cls: cls.name)
def test_what_is_left_out_of_a_parent_s_deviations_is_there(cls: Any) -> None:
    """By its first words, so that a point that is written anew does not come back."""
    for name, beginnings in re.findall(r"""those of `([^`]+)` but ((?:"[^"]+"[,\s]*)+)""", cls.__doc__):
        points = ("\n" + method_class(name).deviations()).split("\n- ")
        for beginning in re.findall(r'"([^"]+)"', beginnings):
            assert sum(point.startswith(beginning) for point in points) == 1


# what a member of a family has not, and its list must not name
NOT_THERE = {
    "xml0": ("centred", "encoder of its own", "greedy", "candidates="),
    "conse": ("before they are mixed", "greedy"),
    "xr-transformer": ("eq. 4", "label2vec", "sentence"),
    "dpr": ("Projections", "Special tokens"),
    "dexml": ("Projections", "Special tokens"),
    "of-de": ("attention",),
    "ova-clf": ("attention", "queries"),
    "simcse": ("title is deleted",),
    "fine-tuned": ("title is deleted",),
    "maclr": ("competitors",),
    "de-ret": ("Keywords",),
}


@pytest.mark.parametrize("name", NOT_THERE)
def test_no_deviations_in_what_a_method_has_not_or_what_its_preset_switches_off(name: str) -> None:
    said = method_class(name).deviations()
    assert said
    assert not [words for words in NOT_THERE[name] if words in said]


def test_what_the_command_line_lists() -> None:
    shown = CliRunner().invoke(app, ["methods", "near"])
    assert shown.exit_code == 0
    settings, paper, of_data, same, deviations = shown.stdout.split("\n\n")
    assert same == "preset paper:wiki10-31k: as paper"
    assert settings.startswith("near: nearest neighbours of a paper; needs labelled documents\nsetting")
    assert paper.splitlines()[0] == "preset paper"
    assert [line.split() for line in paper.splitlines()[2:]] == [
        ["neighbours", "7", str(Near().neighbours)],
        ["tfidf.ngrams", "2", "null"],
        ["tfidf.sublinear", "false", "true"],
    ]
    assert of_data.splitlines()[0] == "preset paper:eurlex-4k, beside what paper sets"
    assert of_data.splitlines()[2].split()[:2] == ["tfidf.ngrams", "3"]
    assert deviations.splitlines()[1:] == ["- of a kind"]
    values = json.loads(CliRunner().invoke(app, ["methods", "near", "--json"]).stdout)
    assert values["presets"]["paper:eurlex-4k"] == {"tfidf.ngrams": 3}
    assert values["settings"] == config.flat(config.to_dict(Near()))
    assert values["deviations"] == "- of a kind"
    assert "it deviates from the paper, with its preset, too:" in deviations
    assert "it deviates from the paper:" in CliRunner().invoke(app, ["methods", "xr-linear"]).stdout
    assert CliRunner().invoke(app, ["methods", "neer"]).exit_code == 4


def test_a_fit_from_the_command_line_keeps_the_settings(tmp_path: Path) -> None:
    data, model = tmp_path / "data", tmp_path / "model"
    assert CliRunner().invoke(app, ["sample", str(data)]).exit_code == 0
    command = ["fit", str(data), "-m", "near", "-o", str(model), "--quiet", "--no-calibrate"]
    done = CliRunner().invoke(app, [*command, "--preset", "paper:eurlex-4k", "--set", "neighbours=9"])
    assert done.exit_code == 0, done.output
    saved = json.loads((model / "manifest.json").read_text())["config"]
    assert (saved["neighbours"], saved["tfidf"]["ngrams"], saved["tfidf"]["sublinear"]) == (9, 3, False)
    assert everylabel.load(model) == everylabel.method("near", preset="paper:eurlex-4k", neighbours=9)
    refused = CliRunner().invoke(app, [*command, "--preset", "book"])
    assert refused.exit_code == 4
    assert "there are: paper, paper:eurlex-4k" in refused.output


def _plain(values: dict[str, Any]) -> Any:
    """Tuples as lists, as they are saved."""
    return json.loads(json.dumps(values))
