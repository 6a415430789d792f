"""The names that users may rely on: a change here is a change for them, and belongs in the CHANGELOG."""

from __future__ import annotations

from pathlib import Path

import pytest

import everylabel

PUBLIC = [
    "Dataset",
    "Documents",
    "EverylabelError",
    "Label",
    "LabelSet",
    "Ranking",
    "Tagger",
    "__version__",
    "load",
    "load_dataset",
    "load_documents",
    "method",
]


def test_the_public_names_are_these() -> None:
    assert sorted(everylabel.__all__) == PUBLIC
    assert dir(everylabel) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_resolves(name: str) -> None:
    assert getattr(everylabel, name) is not None


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = everylabel.nonsense


def test_no_name_hides_a_package() -> None:
    """`everylabel.evaluate` was once a function until the package of that name was imported, and a module after."""
    packages = {path.parent.name for path in Path(everylabel.__file__).parent.glob("*/__init__.py")}
    assert not packages & set(PUBLIC)
