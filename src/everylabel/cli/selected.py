"""The options by which labels are chosen that may be suggested, as one group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from everylabel.workflow.selection import Selection


def _option(name: str, metavar: str, about: str) -> Any:
    return typer.Option(name, metavar=metavar, help=about)


Only = Annotated[
    list[str] | None,
    _option("--only", "ID", "Only these labels. May be repeated; @FILE: the ids in a file, one a line."),
]
Exclude = Annotated[list[str] | None, _option("--exclude", "ID", "Not these labels: ids or @FILE, as --only.")]
Scheme = Annotated[list[str] | None, _option("--scheme", "URI", "Only labels of this scheme. May be repeated.")]
ExcludeScheme = Annotated[list[str] | None, _option("--exclude-scheme", "URI", "No labels of this scheme.")]
Type = Annotated[list[str] | None, _option("--type", "URI", "Only labels of this type. May be repeated.")]
ExcludeType = Annotated[list[str] | None, _option("--exclude-type", "URI", "No labels of this type.")]
Below = Annotated[
    list[str] | None, _option("--below", "ID", "Only this label and all that are narrower. May be repeated; @FILE.")
]
ExcludeBelow = Annotated[
    list[str] | None, _option("--exclude-below", "ID", "Not this label, nor any that is narrower.")
]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """Which labels may be suggested; conditions of several kinds must all be met."""

    only: Only = None
    exclude: Exclude = None
    scheme: Scheme = None
    exclude_scheme: ExcludeScheme = None
    type: Type = None
    exclude_type: ExcludeType = None
    below: Below = None
    exclude_below: ExcludeBelow = None

    @property
    def selection(self) -> Selection:
        from everylabel.workflow.selection import Selection

        return Selection(
            only=tuple(_ids(self.only)),
            exclude=tuple(_ids(self.exclude)),
            schemes=tuple(self.scheme or ()),
            exclude_schemes=tuple(self.exclude_scheme or ()),
            types=tuple(self.type or ()),
            exclude_types=tuple(self.exclude_type or ()),
            below=tuple(_ids(self.below)),
            exclude_below=tuple(_ids(self.exclude_below)),
        )


def _ids(given: Iterable[str] | None) -> Iterator[str]:
    for one in given or ():
        if not one.startswith("@"):
            yield one
            continue
        try:
            lines = Path(one[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(
                f"{one[1:]}: cannot be read ({error}); give a text file with an id a line"
            ) from None
        ids = [line.strip() for line in lines if line.strip()]
        if not ids:
            raise typer.BadParameter(f"{one[1:]}: expected label ids, one a line, and there is none")
        yield from ids
