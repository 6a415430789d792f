"""SKOS vocabularies (ttl, rdf, nt, jsonld), read by rdflib, which is imported on use; skos_writing.py writes them.

`skos:prefLabel` is the name, `altLabel` the alternatives, `definition`, else `scopeNote`, the description, `notation`,
`broader` (and `narrower` of the other one) the parents, `related`, `inScheme` and `topConceptOf` the schemes,
`rdf:type` the types, `owl:deprecated`, `dcterms:isReplacedBy`. The name is in the wanted language where there is one,
else without a language, else in any; alternatives and description are in that of the name or without any. What is in
others is a translation. Lists are sorted: a graph has no order. Left out: `hiddenLabel`, a second notation, mappings to
other vocabularies, SKOS-XL.
Cost: rdflib's graph, some 1 KB a statement.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from everylabel.data.formats.entities import check_entities
from everylabel.data.formats.json_ld import checked_json_ld
from everylabel.data.formats.lines import content_of
from everylabel.data.formats.rows import Entry, suffix_of
from everylabel.data.label import KINDS, Kind, Label, Translation, is_language, is_uri, same_language
from everylabel.errors import DataError

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node, URIRef

PARSERS = {".ttl": "turtle", ".rdf": "xml", ".nt": "nt", ".jsonld": "json-ld"}
SUFFIXES = tuple(PARSERS)
OWN = "urn:everylabel:label:"  # before an id that is no URI
OWN_ID = "urn:everylabel:id"  # what says the id of a label whose URI is another


class Text(NamedTuple):
    language: str  # "": none is said
    text: str


def read_vocabulary(file: Path, language: str) -> Iterator[Entry]:
    """Concepts in the order of their URIs, as a graph has no order of its own."""
    graph = parsed(file)
    from rdflib.namespace import RDF, SKOS

    statements = Statements(graph)
    for concept in statements.uris(graph.subjects(RDF.type, SKOS.Concept)):
        yield Entry(statements.label(concept, language), file.name)


def parsed(file: Path) -> Graph:
    try:
        from rdflib import Graph
    except ImportError:
        raise DataError(f"{file}: reading SKOS needs rdflib; pip install everylabel[skos]") from None
    content, kind = content_of(file), PARSERS[suffix_of(file)]
    if kind == "xml":
        check_entities(content, file)
    try:
        return (
            _of_json_ld(checked_json_ld(content, file))
            if kind == "json-ld"
            else Graph().parse(data=content, format=kind)
        )
    except DataError:
        raise
    except Exception as error:  # each of rdflib's parsers fails with kinds of its own, some with bare Exception
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{file}: expected SKOS as {kind}, and it cannot be parsed ({reason}); correct the file"
        ) from error


def _of_json_ld(value: Any) -> Graph:
    """All statements, of whatever graph in the file."""
    from rdflib import Graph

    found, every = Graph(), Graph()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's, of its own parser
        found.parse(data=value, format="json-ld")
    for statement, _graphs in found.store.triples((None, None, None)):
        every.add(statement)
    return every


class Statements:
    """What a graph says of each concept; a statement that can be made from both ends is read from both."""

    def __init__(self, graph: Graph) -> None:
        from rdflib.namespace import DCTERMS, OWL, RDF, SKOS
        from rdflib.term import Literal, URIRef

        self.graph = graph
        self.names = _texts(graph, SKOS.prefLabel)
        self.alternatives = _texts(graph, SKOS.altLabel)
        self.definitions, self.notes = _texts(graph, SKOS.definition), _texts(graph, SKOS.scopeNote)
        self.notations = _texts(graph, SKOS.notation)
        self.own_ids = _texts(graph, URIRef(OWN_ID))
        self.types = _links(graph, [RDF.type])
        self.parents = _links(graph, [SKOS.broader], [SKOS.narrower])
        self.related = _links(graph, [SKOS.related])
        self.schemes = _links(graph, [SKOS.inScheme, SKOS.topConceptOf], [SKOS.hasTopConcept])
        self.replaced_by = _links(graph, [DCTERMS.isReplacedBy], [DCTERMS.replaces])
        self.concept = str(SKOS.Concept)
        values = ((one, value) for one, value in graph.subject_objects(OWL.deprecated) if isinstance(value, Literal))
        self.deprecated = {str(one) for one, value in values if str(value).lower() in ("true", "1")}

    @staticmethod
    def uris(nodes: Iterable[Node]) -> list[str]:
        """Each once, sorted; what has no URI cannot be a label."""
        from rdflib.term import URIRef

        return sorted({str(node) for node in nodes if isinstance(node, URIRef)})

    def id_of(self, uri: str) -> str:
        if self.own_ids and (own := self.own_ids.get(uri)):
            return own[0].text
        return unquote(uri.removeprefix(OWN), errors="surrogatepass") if uri.startswith(OWN) else uri

    def label(self, uri: str, wanted: str) -> Label:
        names = self.names.get(uri, [])
        spoken = language_of([name.language for name in names], wanted)
        name, *others = [*_in(names, spoken), ""] if names else ["", ""]
        mine = [*filter(None, others), *(_in(names, "") if spoken else [])]
        mine += [text for language in {spoken, ""} for text in _in(self.alternatives.get(uri, []), language)]
        return Label(
            id=self.id_of(uri),
            name=name,
            description=self._description(uri, {spoken, ""}),
            alternatives=tuple(sorted(set(mine))),
            parents=self._ids(self.parents, uri),
            notation=next((text for _, text in self.notations.get(uri, [])), ""),
            uri=uri if uri in self.own_ids else "",
            types=tuple(sorted(_plain(one) for one in self.types[uri] if one != self.concept)),
            schemes=tuple(sorted(map(_plain, self.schemes.get(uri, ())))),
            related=self._ids(self.related, uri),
            translations=tuple(self._translations(uri, spoken)),
            deprecated=uri in self.deprecated,
            replaced_by=self._ids(self.replaced_by, uri),
            language=spoken,
        )

    def _ids(self, links: dict[str, set[str]], uri: str) -> tuple[str, ...]:
        return tuple(sorted(map(self.id_of, links.get(uri, ()))))

    def _description(self, uri: str, languages: set[str]) -> str:
        """All definitions, else all notes, one a line."""
        for texts in (self.definitions, self.notes):
            if found := [text for language, text in texts.get(uri, []) if language in languages]:
                return "\n".join(found)
        return ""

    def _translations(self, uri: str, spoken: str) -> list[Translation]:
        names, alternatives = self.names.get(uri, []), self.alternatives.get(uri, [])
        described = [*self.definitions.get(uri, []), *self.notes.get(uri, [])]
        found = []
        for language in sorted({one for one, _ in [*names, *alternatives, *described]} - {spoken, ""}):
            own = _in(names, language)
            beside = sorted({*own[1:], *_in(alternatives, language)})
            texts: list[tuple[Kind, str]] = [("name", name) for name in own[:1]]
            texts += [("alternative", text) for text in beside]
            if description := self._description(uri, {language}):
                texts.append(("description", description))
            found += [Translation(language, text, kind) for kind, text in texts]
        return sorted(found, key=lambda one: (one.language, KINDS.index(one.kind), one.text))


def language_of(languages: list[str], wanted: str) -> str:
    """The language to take: the wanted one, of any region, else none (""), else the first there is."""
    exactly = [one for one in languages if one.lower() == wanted.lower()]
    nearly = [one for one in languages if one and same_language(one, wanted)]
    untold = [one for one in languages if not one]
    return next(iter([*exactly, *nearly, *untold, *languages]), "")


def uri_for(text: str) -> str:
    """Of an id or another word that stands for a thing: as it is, if it is a URI; `Statements.id_of` reads it back."""
    if is_uri(text) and not text.startswith(OWN):
        return text
    return OWN + quote(text, safe="", errors="surrogatepass")


def _plain(uri: str) -> str:
    return unquote(uri.removeprefix(OWN), errors="surrogatepass") if uri.startswith(OWN) else uri


def _texts(graph: Graph, predicate: URIRef) -> dict[str, list[Text]]:
    """The texts of each subject, sorted so that reading twice gives the same."""
    from rdflib.term import Literal

    found: defaultdict[str, set[Text]] = defaultdict(set)
    for subject, value in graph.subject_objects(predicate):
        if isinstance(value, Literal):
            spoken = value.language or ""
            found[str(subject)].add(Text(spoken if is_language(spoken) else "", str(value)))
    return {subject: sorted(texts) for subject, texts in found.items()}


def _links(graph: Graph, forward: list[URIRef], backward: Iterable[URIRef] = ()) -> dict[str, set[str]]:
    """What each subject is linked to, by one of the first or against one of the second."""
    from rdflib.term import URIRef

    found: defaultdict[str, set[str]] = defaultdict(set)
    for predicate in forward:
        for one, other in graph.subject_objects(predicate):
            if isinstance(other, URIRef):
                found[str(one)].add(str(other))
    for predicate in backward:
        for one, other in graph.subject_objects(predicate):
            if isinstance(one, URIRef):
                found[str(other)].add(str(one))
    return found


def _in(texts: list[Text], language: str) -> list[str]:
    return [text for spoken, text in texts if spoken == language]
