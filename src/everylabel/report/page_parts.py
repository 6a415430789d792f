"""The pieces a page is made of: text becomes HTML here, escaped, and nowhere else.

`Html` is text that is HTML already; every other value is escaped, so forgetting to do so cannot happen. A page needs
nothing from outside: no script, no font, no picture by address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")  # what HTML has no place for

MADE_BY = '<meta name="generator" content="everylabel">'  # by which a page is known again


class Html(str):
    """HTML, to be taken as it is."""

    __slots__ = ()


def safe(value: object) -> Html:
    """Any value as HTML text. Half a surrogate pair, which no file can hold, is shown by its number."""
    if isinstance(value, Html):
        return value
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return Html(escape(_CONTROL.sub("\ufffd", text)))


def tag(name: str, *content: object, **attributes: object) -> Html:
    """`tag("p", "a < b", class_="small")`; an attribute that is None is left out."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    inside = "".join(f' {key}="{safe(value)}"' for key, value in given.items())
    return Html(f"<{name}{inside}>{joined(content)}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Html:
    return Html(between.join(safe(part) for part in parts))


def paragraph(*content: object, class_: str | None = None) -> Html:
    return tag("p", *content, class_=class_)


def bullets(items: Iterable[object]) -> Html:
    return tag("ul", *(tag("li", item) for item in items))


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of names and what they are."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs))


def figure(svg: str, description: str, caption: object = "") -> Html:
    """A picture that `plots.inline_svg` made."""
    picture = Html(svg.replace("<svg ", f'<svg role="img" aria-label="{safe(description)}" ', 1))
    return tag("figure", tag("div", picture, class_="wide", tabindex=0), tag("figcaption", caption) if caption else "")


def table(
    columns: Sequence[object],
    rows: Sequence[Sequence[object]],
    *,
    words: int = 1,
    groups: Sequence[tuple[object, int]] = (),
    first_strong: bool = False,
) -> Html:
    """The first `words` columns are words, the others numbers, aligned right.

    `groups` is a row above the columns: what stands over how many of them. `first_strong` marks the first row.
    """
    above = [
        tag("th", name, colspan=n, scope="colgroup", class_="group") if name else tag("td", colspan=n)
        for name, n in groups
    ]
    sides = ["word" if i < words else "number" for i in range(len(columns))]
    heads = [
        tag("th", column, scope="col", class_=side) if column else tag("td")
        for column, side in zip(columns, sides, strict=True)
    ]
    body = []
    for i, row in enumerate(rows):
        first, *rest = zip(row, sides, strict=True)
        cells = [tag("th", first[0], scope="row", class_=first[1]), *(tag("td", v, class_=s) for v, s in rest)]
        body.append(tag("tr", *cells, class_="own" if first_strong and i == 0 else None))
    head = tag("thead", tag("tr", *above) if above else "", tag("tr", *heads))
    return tag("div", tag("table", head, tag("tbody", *body)), class_="wide", tabindex=0)  # keys can scroll it


def is_page(begin: bytes) -> bool:
    """By its first kB: is a file one of these pages?"""
    return MADE_BY.encode() in begin


def section(anchor: str, title: str, *content: object) -> Html:
    return tag("section", tag("h2", title), *content, id=anchor)


def document(title: str, *body: object, language: str = "en") -> str:
    """A whole page."""
    head: list[Any] = [
        Html('<meta charset="utf-8">'),
        Html(MADE_BY),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        Html(f"<style>{STYLE}</style>"),
    ]
    page = tag("html", "\n", tag("head", *head), "\n", tag("body", *body), "\n", lang=language)
    return f"<!DOCTYPE html>\n{page}\n"


STYLE = """
:root { color-scheme: light dark; --text: #1c2430; --soft: #5a6675; --line: #d8dee6; --ground: #ffffff;
  --card: #f5f7fa; --accent: #0067a5; --good: #00734f; --bad: #b34700; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ee; --soft: #9fabb9; --line: #37414e; --ground: #14181e;
  --card: #1d232b; --accent: #6cb8ee; --good: #4ccb9f; --bad: #ff9a5c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 3rem; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .6rem; padding-top: .8rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
h4 { font-size: 1rem; margin: 0 0 .2rem; }
p { margin: .5rem 0; max-width: 48rem; }
a { color: var(--accent); }
.soft, figcaption, small { color: var(--soft); font-size: .875rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 1.2rem 0; font-size: .925rem; }
ul { padding-left: 1.2rem; margin: .5rem 0; max-width: 48rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .5rem 1.5rem; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; margin: 1.2rem 0; }
.tiles div { background: var(--card); border-radius: .5rem; padding: .7rem 1rem; }
.tiles b { font-size: 1.7rem; line-height: 1.3; padding-right: .3rem; font-variant-numeric: tabular-nums; }
.tiles span { display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .925rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
th, td { padding: .32rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; font-weight: 400; }
thead th { color: var(--soft); font-size: .84rem; vertical-align: bottom; white-space: nowrap; }
th.group { text-align: center; border-bottom: 0; color: var(--text); padding: .32rem .3rem; }
tbody th { white-space: nowrap; position: sticky; left: 0; background: var(--ground); }
.word { text-align: left; }
.number { text-align: right; white-space: nowrap; }
.number small, .group small { display: block; }
tr.own, tr.own th { background: var(--card); }
tr.own th { font-weight: 600; }
.better { color: var(--good); font-weight: 600; }
.worse { color: var(--bad); font-weight: 600; }
figure { margin: 1rem 0; }
figure svg { background: #fff; border-radius: .4rem; max-width: 100%; min-width: 26rem; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: .9rem; }
article { background: var(--card); border-radius: .5rem; padding: 1rem 1.2rem; }
article p { margin: 0 0 .3rem; font-size: .925rem; }
article blockquote { margin: .3rem 0 .7rem; color: var(--soft); font-size: .925rem; }
article ol { list-style: none; margin: .3rem 0; padding: 0; }
article ul { margin: 0 0 .4rem; }
article ol li { display: grid; grid-template-columns: 4.9rem 2.5rem 1fr; gap: 0 .6rem; padding: .15rem 0; }
article .share { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
article ol small.evidence { display: block; }
pre { white-space: pre-wrap; background: var(--card); border-radius: .5rem; padding: .8rem 1rem; font-size: .875rem; }
footer { margin-top: 3.5rem; padding-top: .8rem; border-top: 2px solid var(--line); font-size: .875rem; }
pre, code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9em; }
@media (max-width: 40rem) { body { padding: 1.2rem .9rem 2rem; } th, td { padding: .3rem .5rem; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } nav { display: none; }
  figure, article, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .wide { overflow: visible; } }
"""
