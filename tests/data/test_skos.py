"""SKOS: what a librarian has said of a label is there, is written again, and nothing is fetched to read it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from everylabel.cli.app import app
from everylabel.data import convert, load_labels
from everylabel.data.dataset import Label, LabelSet, Translation
from everylabel.data.formats.layout import Options
from everylabel.data.formats.rows import Target
from everylabel.data.formats.skos import SUFFIXES
from everylabel.data.formats.skos_writing import write_vocabulary
from everylabel.data.label import KINDS
from everylabel.errors import ConfigError, DataError

pytest.importorskip("rdflib")

WHOLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix x: <http://x/> .
x:ships a skos:Concept, x:Topic ; skos:prefLabel "ships"@en, "laivat"@fi, "fartyg"@sv ; skos:altLabel "vessels"@en,
    "alukset"@fi, "craft" ; skos:notation "62.1" ; skos:definition "They swim."@en, "Ne uivat."@fi ;
  skos:scopeNote "Of the sea."@en, "Till sj\u00f6ss."@sv ; skos:inScheme x:thesaurus ; skos:related x:ports .
x:boats a skos:Concept ; skos:prefLabel "boats"@en-GB ; skos:topConceptOf x:thesaurus .
x:ships skos:narrower x:boats .
x:thesaurus skos:hasTopConcept x:ships .
x:ports a skos:Concept ; skos:prefLabel "ports" ; skos:broader x:ships, x:boats .
x:hulks a skos:Concept ; skos:prefLabel "hulks"@en ; owl:deprecated true ; dct:isReplacedBy x:ships .
x:barks a skos:Concept ; skos:prefLabel "barks"@en ; owl:deprecated "1" .
x:boats dct:replaces x:barks .
[] a skos:Concept ; skos:prefLabel "without a URI"@en .
"""


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    (tmp_path / "thesaurus.ttl").write_text(WHOLE, "utf-8")
    return tmp_path / "thesaurus.ttl"


def test_all_that_is_said_of_a_label_is_read(whole: Path) -> None:
    labels = load_labels(whole)
    found = {label.id.removeprefix("http://x/"): label for label in labels}
    assert sorted(found) == ["barks", "boats", "hulks", "ports", "ships"]
    assert found["ships"] == Label(
        id="http://x/ships",
        name="ships",
        description="They swim.",
        alternatives=("craft", "vessels"),
        notation="62.1",
        types=("http://x/Topic",),
        schemes=("http://x/thesaurus",),
        related=("http://x/ports",),
        translations=(
            Translation("fi", "laivat", "name"),
            Translation("fi", "alukset", "alternative"),
            Translation("fi", "Ne uivat.", "description"),
            Translation("sv", "fartyg", "name"),
            Translation("sv", "Till sjöss.", "description"),
        ),
        language="en",
    )
    assert (found["boats"].name, found["boats"].language) == ("boats", "en-GB")
    assert found["boats"].parents == ("http://x/ships",)  # by what is narrower than ships
    assert found["boats"].schemes == ("http://x/thesaurus",)
    assert (found["ports"].name, found["ports"].language) == ("ports", "")
    assert found["ports"].parents == ("http://x/boats", "http://x/ships")
    assert (found["hulks"].deprecated, found["hulks"].replaced_by) == (True, ("http://x/ships",))
    assert (found["barks"].deprecated, found["barks"].replaced_by) == (True, ("http://x/boats",))
    assert (labels.language, labels.languages) == ("en", ("fi", "sv"))


def test_the_name_is_in_the_wanted_language_where_there_is_one(whole: Path) -> None:
    labels = load_labels(whole, language="sv")
    ships = labels[labels.index["http://x/ships"]]
    assert (ships.name, ships.description, ships.language) == ("fartyg", "Till sjöss.", "sv")
    assert Translation("en", "ships", "name") in ships.translations
    assert labels[labels.index["http://x/hulks"]].name == "hulks"


word = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), min_size=1, max_size=6)
text = word | st.just('a "quoted"\nand\\ <broken>\t& line\'')
uri = st.sampled_from("abcdefgh").map("http://x/é#{}".format) | st.sampled_from(
    ["urn:isbn:1", "urn:everylabel:label:x"]
)
ids = uri | word | st.sampled_from(["l 1", "a/b", "%41", "café"])


def sorted_set(values: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    return st.frozensets(values, max_size=most).map(lambda found: tuple(sorted(found)))


@st.composite
def translations(draw: st.DrawFn) -> tuple[Translation, ...]:
    """One name and one description a language, as SKOS has it, in the order in which they are read."""
    found = []
    for language in draw(st.frozensets(st.sampled_from(["fi", "sv", "pt-BR"]))):
        for kind in draw(st.frozensets(st.sampled_from(KINDS), min_size=1)):
            most = 3 if kind == "alternative" else 1
            found += [Translation(language, one, kind) for one in draw(sorted_set(text, most))]
    return tuple(sorted(found, key=lambda one: (one.language, KINDS.index(one.kind), one.text)))


LABELS = st.builds(
    Label,
    id=ids,
    name=text,
    description=st.just("") | text,
    alternatives=sorted_set(text),
    parents=sorted_set(ids),
    notation=st.just("") | text,
    uri=st.just("") | st.integers(0, 99).map("http://other/{}".format),
    types=sorted_set(ids),
    schemes=sorted_set(ids),
    related=sorted_set(ids),
    translations=translations(),
    deprecated=st.booleans(),
    replaced_by=sorted_set(ids),
    language=st.sampled_from(["en", "en-GB"]),
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LABELS, max_size=4, unique_by=(lambda label: label.id, lambda label: label.uri or label.id)))
def test_what_was_written_is_read_again(suffix: str, tmp_path: Path, labels: list[Label]) -> None:
    target = tmp_path / f"out{suffix}"
    write_vocabulary(Target(target, LabelSet.of(labels), Options()))
    again = load_labels(target)
    assert sorted(again, key=lambda label: label.id) == sorted(labels, key=lambda label: label.id)


@pytest.mark.parametrize("name", ["out.ttl", "out.rdf", "out.nt", "out.jsonld", "out.ttl.gz"])
def test_convert_writes_it(whole: Path, tmp_path: Path, name: str) -> None:
    done = convert(whole, tmp_path / name)
    assert (done.format, done.n_labels, done.n_docs) == ("skos", 5, {})
    assert load_labels(tmp_path / name) == load_labels(whole)
    first = (tmp_path / name).read_bytes()
    with pytest.raises(DataError, match="exists already"):
        convert(whole, tmp_path / name)
    convert(whole, tmp_path / name, overwrite=True)
    assert (tmp_path / name).read_bytes() == first


def test_convert_on_the_command_line(whole: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["convert", str(whole), str(tmp_path / "out.jsonld")])
    assert result.exit_code == 0
    assert "out.jsonld (skos): 5 labels\n" in result.stderr
    with pytest.raises(ConfigError, match="SKOS is a vocabulary without documents"):
        convert(whole, tmp_path / "other.ttl", "native")


def test_the_native_layout_holds_all_of_it(whole: Path, tmp_path: Path) -> None:
    convert(whole, tmp_path / "native")
    assert load_labels(tmp_path / "native") == load_labels(whole)


def test_two_labels_of_one_uri_are_not_written(tmp_path: Path) -> None:
    both = LabelSet.of([Label("a", "a", uri="http://x/1"), Label("http://x/1", "b")])
    with pytest.raises(DataError, match="labels 'a' and 'http://x/1' have one URI"):
        write_vocabulary(Target(tmp_path / "out.ttl", both, Options()))
    with pytest.raises(DataError, match="control character"):
        write_vocabulary(Target(tmp_path / "out.ttl", LabelSet.of([Label("a", "\x00")]), Options()))
    assert not list(tmp_path.iterdir())


CONCEPT = {"@id": "http://x/1", "@type": "http://www.w3.org/2004/02/skos/core#Concept"}


@pytest.mark.parametrize(
    "value",
    [
        {"@context": "http://127.0.0.1:1/context", **CONCEPT},
        {"@context": [{}, "file:///etc/passwd"], **CONCEPT},
        {"@context": {"name": {"@id": "http://x/n", "@context": "//host/c"}}, **CONCEPT},
        {"@context": {"@import": "http://127.0.0.1:1/c"}, **CONCEPT},
        {"@graph": [CONCEPT, {"@context": "relative.jsonld"}]},
        [CONCEPT, {"@context": "http://127.0.0.1:1/context"}],
    ],
)
def test_a_context_elsewhere_is_refused_and_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    (tmp_path / "x.jsonld").write_text(json.dumps(value))
    with pytest.raises(DataError, match=r"context is at another address .* which is not fetched"):
        load_labels(tmp_path / "x.jsonld")


def test_json_ld_with_its_context_in_the_file(tmp_path: Path) -> None:
    context = {
        "skos": "http://www.w3.org/2004/02/skos/core#",
        "prefLabel": {"@id": "skos:prefLabel", "@container": "@language"},
    }
    concept = {"@id": "http://x/1", "@type": "skos:Concept", "prefLabel": {"en": "ships", "fi": "laivat"}}
    for value in ({"@context": context, "@graph": [concept]}, [{"@context": context, **concept}]):
        (tmp_path / "x.jsonld").write_text(json.dumps(value))
        (label,) = load_labels(tmp_path / "x.jsonld")
        assert (label.name, label.translations) == ("ships", (Translation("fi", "laivat"),))
    (tmp_path / "x.jsonld").write_text(json.dumps({"@context": context, "@id": "http://x/graph", "@graph": [concept]}))
    assert load_labels(tmp_path / "x.jsonld").names == ["ships"]  # of a graph that has a name


@pytest.mark.parametrize("content", ["{", "[" * 100_000])
def test_what_is_no_json_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.jsonld").write_text(content)
    with pytest.raises(DataError, match=r"x\.jsonld: expected SKOS as json-ld"):
        load_labels(tmp_path / "x.jsonld")


@pytest.mark.parametrize("content", ['"text"', "[1, null]", '{"@id": 3}', "null"])
def test_json_without_a_concept_has_no_label(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.jsonld").write_text(content)
    assert len(load_labels(tmp_path / "x.jsonld")) == 0
