"""HTML as text, by the standard library: what a reader of the page sees. Called from `reading.py`, in its process.

Nothing is fetched and nothing is run. The parser is a forgiving one: what is not closed ends where browsers end it, or
at the end of the page.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

MOST_BYTES = 100_000_000
NOT_SHOWN = {"script", "style", "template", "noscript", "svg", "math", "object", "iframe", "select", "textarea", "head"}
IN_HEAD = {"title", "meta", "link", "base", "script", "style", "noscript", "template", "head"}  # others end it
BLOCK = re.compile(  # what begins a line
    "address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|div|fieldset|figcaption|figure|footer|form|"
    "h[1-6r]|header|html|li|main|nav|ol|option|p|pre|section|summary|table|tbody|tfoot|thead|title|tr|ul"
).fullmatch
EMPTY = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr").fullmatch
END_IMPLIED = {"dd", "dt", "li", "option", "p", "td", "th", "tr"}  # whose end may be left out
CHARSET = re.compile(rb"""<(?:meta[^>]{0,200}?charset\s*=|\?xml[^>]{0,100}?encoding\s*=)\s*["']?([\w.:-]+)""", re.I)
HIDDEN_STYLE = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.I)


def content(file: Path) -> tuple[str, str]:
    """Title and text. ValueError says what is wrong."""
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes; it is likely no text")
    title, text = page(data)
    if not text and not title:
        raise ValueError("it has no text that is shown; check that it is the right file")
    return title, text


def page(data: bytes) -> tuple[str, str]:
    """Title (of the head, else the first heading) and text, a block a line."""
    reader = _Page()
    reader.feed(decoded(data))
    reader.close()
    return reader.title, reader.text


def decoded(data: bytes) -> str:
    """As the mark or the page itself says; else UTF-8, else the letters of old Western pages."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    said = CHARSET.search(data[:2048])
    for name in (said[1].decode("ascii", "replace") if said else "utf-8", "utf-8"):
        try:
            return data.decode(name)
        except (LookupError, UnicodeError):
            continue
    return data.decode("cp1252", "replace")


class _Page(HTMLParser):
    """Gathers pieces of text; `_hidden` is the element that is not shown, `_inside` how deep we are in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._titles: list[str] = []
        self._headings: list[str] = []
        self._hidden, self._inside = "", 0
        self._in_title, self._in_heading, self._verbatim = False, False, 0

    @property
    def title(self) -> str:
        return " ".join("".join(self._titles).split()) or " ".join("".join(self._headings).split())

    @property
    def text(self) -> str:
        lines = (re.sub(r"[ \t]*\t[ \t]*", "\t", line).strip() for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden == "head" and tag not in IN_HEAD:
            self._hidden = ""  # its end may be left out
        self._in_title = tag == "title" and self._hidden in ("", "head") and not self._titles
        if self._hidden:
            if tag == self._hidden and tag in END_IMPLIED:
                self._hidden = ""
            elif not EMPTY(tag) and tag not in END_IMPLIED:
                self._inside += 1
        if not self._hidden and not EMPTY(tag) and (tag in NOT_SHOWN or _is_hidden(dict(attrs))):
            self._hidden, self._inside = tag, 0
        if self._hidden:
            return
        self._verbatim += tag == "pre"
        self._in_heading = self._in_heading or (tag == "h1" and not self._headings)
        if BLOCK(tag):
            self._pieces.append("\n")
        elif tag in ("td", "th"):
            self._pieces.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._hidden:
            if tag in END_IMPLIED and tag != self._hidden:
                return
            if tag == self._hidden and self._inside == 0:
                self._hidden = ""
            elif not EMPTY(tag) and self._inside == 0 and self._hidden in END_IMPLIED:
                self._hidden = ""  # what is around it ends
            elif not EMPTY(tag) and tag not in END_IMPLIED:
                self._inside = max(self._inside - 1, 0)
            if self._hidden:
                return
        self._verbatim -= tag == "pre" and self._verbatim > 0
        self._in_heading = self._in_heading and tag != "h1"
        if BLOCK(tag):
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._titles.append(data)
        elif not self._hidden:
            shown = data if self._verbatim else re.sub(r"\s+", " ", data)
            self._pieces.append(shown.replace("\u00ad", ""))
            if self._in_heading:
                self._headings.append(shown)


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    return "hidden" in attributes or bool(HIDDEN_STYLE.search(attributes.get("style") or ""))
