"""The shapes of Annif's REST interface, as its clients know them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

Limit = Annotated[int, Field(ge=0, description="How many suggestions at most.")]
Threshold = Annotated[float, Field(ge=0, le=1, description="The least score of a suggestion.")]
Language = Annotated[str, Field(max_length=40, description="Language of labels; empty: the project's.")]
MOST_DOCUMENTS = 32


class ApiInfo(BaseModel):
    title: str
    version: str


class Vocab(BaseModel):
    vocab_id: str
    languages: list[str]
    size: int | None
    loaded: bool


class Vocabs(BaseModel):
    vocabs: list[Vocab]


class Backend(BaseModel):
    backend_id: str


class AnnifProject(BaseModel):
    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: Vocab | None
    vocab_language: str
    is_trained: bool
    modification_time: str | None


class AnnifProjects(BaseModel):
    projects: list[AnnifProject]


class Hit(BaseModel):
    uri: str
    label: str
    notation: str | None
    score: float = Field(gt=0, le=1)


class Hits(BaseModel):
    results: list[Hit]


class DocumentHits(BaseModel):
    document_id: str | None
    results: list[Hit]


class SuggestForm(BaseModel):
    """Fields that are not named here are ignored, but `metadata_title`, which is the document's title."""

    text: str
    limit: Limit = 10
    threshold: Threshold = 0.0
    language: Language = ""
    metadata_title: str = ""


class SuggestJson(BaseModel):
    """The same as JSON, where null is as if it were not there."""

    text: str | None = None
    limit: Limit | None = None
    threshold: Threshold | None = None
    language: Language | None = None
    metadata_title: str | None = None


class Metadata(BaseModel):
    """Other fields are ignored."""

    title: str | None = None


class BatchDocument(BaseModel):
    text: str
    document_id: str | None = None
    metadata: Metadata = Metadata()


class Batch(BaseModel):
    documents: list[BatchDocument] = Field(max_length=MOST_DOCUMENTS)


class Subject(BaseModel):
    uri: str
    label: str | None = None


class LearnDocument(BaseModel):
    text: str
    metadata: Metadata = Metadata()
    subjects: list[Subject] = Field(max_length=1_000)


class LanguageQuestion(BaseModel):
    text: str
    languages: list[Annotated[str, Field(min_length=1, max_length=20)]] = Field(
        min_length=1, max_length=5, description="Codes of languages that it may be in."
    )


class LanguageScore(BaseModel):
    language: str | None = Field(description="null: none of them.")
    score: float = Field(ge=0, le=1)


class LanguageScores(BaseModel):
    results: list[LanguageScore]
