"""The shapes of our own interface under `/api`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from everylabel.workflow.tag import NewLabels

Id = Annotated[str, Field(min_length=1, max_length=2_000)]
Ids = Annotated[list[Id], Field(max_length=10_000)]
SHORT = 2_000  # characters of names and the like


class Asking(BaseModel):
    """A field that is misspelt is an error, not one that is passed over."""

    model_config = ConfigDict(extra="forbid")


class TagDocument(Asking):
    text: str
    title: str = Field("", max_length=20_000)
    document_id: str | None = Field(None, max_length=SHORT)


class TagRequest(Asking):
    """One text, or several documents."""

    text: str | None = None
    title: str = Field("", max_length=20_000)
    documents: list[TagDocument] | None = Field(None, max_length=1_000)
    k: int = Field(10, ge=1, le=1_000, description="How many labels at most.")
    threshold: float | None = Field(None, ge=0, le=1, description="The least probability.")
    best: bool = Field(False, description="As many labels as give the best expected F1.")
    explain: bool = Field(False, description="With evidence, as places in the text where it has any.")
    new_labels: NewLabels = Field("group", description="Where labels go that nobody has used yet.")
    language: str = Field("", max_length=40, description="Of the labels' names; empty: the project's.")
    broader: bool = Field(False, description="Broader labels in place of narrow ones that are uncertain.")
    only: Ids = Field(default_factory=list, description="No labels but these.")
    exclude: Ids = Field(default_factory=list, description="None of these labels.")
    schemes: Ids = Field(default_factory=list, description="Only labels of one of these schemes.")
    exclude_schemes: Ids = Field(default_factory=list)
    types: Ids = Field(default_factory=list, description="Only labels of one of these types.")
    exclude_types: Ids = Field(default_factory=list)
    below: Ids = Field(default_factory=list, description="Only these labels and those below them.")
    exclude_below: Ids = Field(default_factory=list)

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if (self.text is None) == (self.documents is None):
            raise ValueError("give a text, or documents")
        return self

    @property
    def texts(self) -> list[TagDocument]:
        return self.documents or (
            [] if self.text is None else [TagDocument(text=self.text, title=self.title, document_id=None)]
        )


class EvidenceItem(BaseModel):
    model_config = ConfigDict(extra="allow")

    kind: str
    text: str
    weight: float
    source: str
    spans: list[list[int]] = Field(default_factory=list, description="First character and the one after the last.")


class TagLabel(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    name: str
    score: float
    uri: str
    notation: str | None
    probability: float | None = None
    band: str | None = None
    path: list[str] | None = Field(None, description="Names of the labels above it, from the top.")
    evidence: list[EvidenceItem] | None = None


class TaggedDocument(BaseModel):
    document_id: str | None
    labels: list[TagLabel]
    new_labels: list[TagLabel] = Field(description="More of them, which nobody has used yet, and which fit.")


class TagResponse(BaseModel):
    version: int = Field(description="Of the model that has answered.")
    documents: list[TaggedDocument]


class ModelInfo(BaseModel):
    id: str
    name: str
    vocab: str = Field(description="An id of the vocabulary.")
    language: str
    languages: list[str]
    access: str
    method: str
    labels: int
    documents: int = Field(description="That it was fitted on.")
    version: int
    since: str = Field(description="When it was loaded.")
    modified: str
    refused: str = Field(description="Why a newer model is not served; empty: there is none.")
    allow_learn: bool


class Results(BaseModel):
    """What a job of the kind evaluate has measured: fractions; null: nothing to measure it by."""

    at: str
    data: str
    split: str
    documents: int
    values: dict[str, float | None]
    bands: dict[str, dict[str, float | None]] = Field(description="Frequent, tail and unseen labels, and all of them.")


class ModelDetails(ModelInfo):
    path: str
    plan: list[str]
    history: list[dict[str, Any]]
    versions: list[dict[str, Any]]
    learned: int = Field(description="Documents that were learned since the fit.")
    refit_due: str = Field(description="Why a full fit is due; empty: it is not.")
    has_report: bool = Field(description="Whether a job has written a report.")
    results: Results | None = Field(description="Of the last evaluation of this very model; null: there is none.")
    examples: list[str] = Field(description="Texts to try it with; a first line of several is a title.")
    decisions: dict[str, int] | None = Field(description="How many; null: the database is away.")


class Models(BaseModel):
    models: list[ModelInfo]


class Reloaded(BaseModel):
    models: list[ModelInfo]
    refused: dict[str, str] = Field(description="Projects whose new model is refused, and why.")


class LabelInfo(BaseModel):
    id: str
    name: str
    uri: str
    notation: str | None
    documents: int = Field(description="That it has in training.")


class LabelList(BaseModel):
    labels: list[LabelInfo]


class Keyword(BaseModel):
    word: str
    weight: float


class LabelDetails(LabelInfo):
    description: str
    alternatives: list[str]
    broader: list[LabelInfo]
    narrower: list[LabelInfo]
    related: list[LabelInfo]
    deprecated: bool = Field(description="Never suggested; kept so that it can be looked up.")
    replaced_by: list[LabelInfo] = Field(description="What stands for it, if it is deprecated.")
    schemes: list[str]
    keywords: list[Keyword]


class NewLabel(Asking):
    id: Id
    name: str = Field(min_length=1, max_length=SHORT)
    description: str = Field("", max_length=20_000)
    alternatives: list[Annotated[str, Field(max_length=SHORT)]] = Field(default_factory=list, max_length=1_000)
    parents: list[Id] = Field(default_factory=list, max_length=1_000)


class NewLabelsRequest(Asking):
    labels: list[NewLabel] = Field(min_length=1, max_length=10_000)


class VocabularyChanged(BaseModel):
    changed: int
    labels: int = Field(description="That the model suggests now.")
    version: int


class DecisionRequest(Asking):
    text: str
    title: str = Field("", max_length=20_000)
    document_id: str = Field("", max_length=SHORT)
    accepted: Ids = Field(default_factory=list, description="Labels that were suggested and are right.")
    rejected: Ids = Field(default_factory=list, description="Labels that were suggested and are wrong.")
    added: Ids = Field(default_factory=list, description="Labels that were missing.")
    complete: bool = Field(True, description="Accepted and added ones are all labels of the document.")
    by: str = Field("", max_length=SHORT, description="Who has decided.")
    key: str = Field("", max_length=SHORT, description="Of your choice: the same key twice is the same decision.")


class DecisionInfo(BaseModel):
    id: int
    at: str
    text: str
    title: str
    document_id: str
    accepted: list[str]
    rejected: list[str]
    added: list[str]
    complete: bool
    by: str
    key: str
    undone: str
    learned_in: int


class DecisionList(BaseModel):
    decisions: list[DecisionInfo]
    counts: dict[str, int]


class LearningInfo(BaseModel):
    state: Literal["idle", "waiting", "running"]
    waiting: int = Field(description="Decisions that no model has learned yet.")
    version: int = Field(description="Of the model that is served.")
    last: dict[str, Any] | None = Field(description="What came of the last learning of this process.")
    error: str


class VersionList(BaseModel):
    current: int
    kept: list[int]
    history: list[dict[str, Any]]


class QueueRequest(Asking):
    documents: list[TagDocument] = Field(min_length=1, max_length=256)


class QueuedInfo(BaseModel):
    id: int
    text: str
    title: str
    document_id: str
    doubt: float


class ReviewQueue(BaseModel):
    documents: list[QueuedInfo]


class Queued(BaseModel):
    ids: list[int]


class JobRequest(Asking):
    """A fit takes a data set and writes a new project's folder; the others take a project's model."""

    kind: Literal["fit", "refit", "evaluate", "report"]
    project: str = Field("", max_length=80, description="Whose model; of a fit, the name of the folder to write.")
    data: str = Field("", max_length=200, description="Name of a data set, as GET /data lists them.")
    method: str = Field("", max_length=80, description="Of a fit; empty: the tagger.")
    budget: str = Field("", max_length=20, description="Time for a fit, such as 30m.")
    split: str = Field("", max_length=80)


class DataSet(BaseModel):
    name: str
    sent: bool = Field(description="It came over the network; else it is one of the server's folder.")


class DataSets(BaseModel):
    data: list[DataSet]


class JobInfo(BaseModel):
    id: int
    kind: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: str
    log: str
    exit_code: int | None
    at: str
    ended: str


class JobList(BaseModel):
    jobs: list[JobInfo]


class UrlRequest(Asking):
    url: str = Field(max_length=SHORT, description="Of a public page or file, by http or https.")


class TextOfFile(BaseModel):
    title: str
    text: str


class SubjectOfRecord(BaseModel):
    name: str
    label: LabelInfo | None = Field(None, description="The label that it is, where the vocabulary has it.")


class RecordInfo(BaseModel):
    number: int = Field(description="In its file, from 1.")
    document_id: str
    title: str
    text: str
    subjects: list[SubjectOfRecord]


class RecordList(BaseModel):
    format: str
    records: list[RecordInfo]
    left_out: int = Field(description="Records that are damaged.")


class NewSubject(Asking):
    name: str = Field(min_length=1, max_length=SHORT)
    id: Id
    uri: str = Field("", max_length=SHORT)
    probability: float | None = Field(None, ge=0, le=1, description="As the model said; none: a person's own.")

    def as_list(self) -> list[Any]:
        return [self.name, self.id, self.uri, self.probability]


class SubjectsOfRecords(Asking):
    """Labels that a person took for records, by the records' numbers."""

    source: str = Field("local", min_length=1, max_length=40, description="Code of the vocabulary: MARC's $2.")
    records: dict[Annotated[int, Field(ge=1)], Annotated[list[NewSubject], Field(max_length=1_000)]] = Field(
        max_length=10_000
    )
