"""What a server is told beside its projects: where it keeps things, who may ask, and how much at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every limit has a default that a library's catalogue does not meet, and that a small machine stands."""

    state: Path  # a folder for decisions and learned models
    store: str = ""  # URL of the database of decisions; "": SQLite in the state folder
    keys: Path | None = None  # file of keys; None: only this machine is served
    data: Path | None = None  # folder of data sets that jobs may read, beside those that are sent; None: those alone
    hosts: tuple[str, ...] = ()  # names beside localhost that requests may be addressed to, where there are no keys
    origins: tuple[str, ...] = ("*",)  # pages that browsers may ask from
    allow_learn: bool = False  # for projects that do not say it themselves
    least_to_learn: int = 50  # decisions that wait before learning begins by itself
    watch_seconds: float = 1.0  # between two looks at the model folders

    most_bytes: int = 10 * MB  # of a request's body
    most_upload_bytes: int = 32 * MB  # of a file whose text is wanted
    most_characters: int = 1_000_000  # of one text
    most_documents: int = 256  # of one request to our own interface
    most_waiting: int = 512  # documents that wait to be ranked; more are sent away
    most_requests: int = 256  # at the same time
    body_seconds: float = 20.0  # until a body has come, and until an answer is taken
    answer_seconds: float = 60.0  # that a request waits to be ranked
    upload_seconds: float = 30.0  # to read an uploaded file
    allow_fetch: bool = False  # texts of addresses on the internet
    fetch_seconds: float = 20.0  # until all of one has come
    most_failures: int = 20  # wrong keys from one address in a minute

    @property
    def store_url(self) -> str:
        return self.store or f"sqlite:///{(self.state / 'decisions.db').absolute()}"

    def report_of(self, project_id: str) -> Path:
        """Where a report about a project's model is, if there is one."""
        return self.state / "reports" / f"{project_id}.html"
