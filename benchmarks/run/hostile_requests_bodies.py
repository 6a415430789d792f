"""Hostile bodies, forms and queries: what is in a request that is well-formed as HTTP."""

from __future__ import annotations

import random
from urllib.parse import quote, quote_plus

from benchmarks.run.hostile_requests_server import PROJECT
from benchmarks.run.hostile_requests_texts import (
    FORM,
    JSON,
    Known,
    changed,
    dumped,
    json_requests,
    number,
    project,
    sent,
    text,
)
from benchmarks.run.hostile_requests_wire import MARKER, Sent

CHARSETS = (
    "utf-8",
    "UTF8",
    "latin-1",
    "utf-16",
    "utf-7",
    "utf-32",
    "idna",
    "punycode",
    "unicode_escape",
    "raw_unicode_escape",
    "undefined",
    "zlib",
    "bz2",
    "hex",
    "rot13",
    "mbcs",
    "nothing",
    "",
    "\x01",
    "x" * 500,
    "utf-8;charset=latin-1",
    '"',
    "../../etc/passwd",
    "os",
    "uu",
    "quopri",
    "cp037",
)
TYPES = (
    "text/plain",
    "text/xml",
    "application/xml",
    "application/yaml",
    "application/x-pickle",
    "image/png",
    "*/*",
    "/",
    "json",
    "application/json, text/html",
    "application/vnd.api+json",
    "multipart/mixed; boundary=x",
    "",
    ";",
    "a/b/c",
    "application/json; charset*=''%ff",
    "application/json; charset*0*=x''%ff; charset*1=y",
    'application/json; q="',
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "application/json;" + "a=b;" * 500,
    "\xff\xfe",
    "application/JSON",
)
NUMBERS = (
    "-1",
    "0",
    "1e9",
    "9" * 30,
    "9" * 5_000,
    "nan",
    "inf",
    "-0",
    "0x10",
    "1_000",
    " 5",
    "٣",
    "",
    "1.5",
    "true",
    "[]",
)


def wrong_types(rng: random.Random, known: Known) -> Sent:
    """JSON, with a part or two of another type or size than asked for."""
    target, body = json_requests(rng, known)
    for _ in range(rng.randrange(3)):
        body = changed(rng, body)
    return sent(rng, known, "POST", target, [("Content-Type", JSON)], dumped(rng, body))


def broken_json(rng: random.Random, known: Known) -> Sent:
    """What begins like JSON: cut, nested, in other encodings, with bytes that are none of UTF-8."""
    target, body = json_requests(rng, known)
    data = dumped(rng, body)
    depth = rng.choice((50, 200, 1_000, 20_000))
    kinds = (
        lambda: data[: rng.randrange(len(data))],
        lambda: with_noise(rng, data),
        lambda: b"[" * depth,
        lambda: b'{"a":' * depth + b"1" + b"}" * depth,
        lambda: b'{"text": ' + b"[" * depth + b"]" * depth + b"}",
        lambda: b'{"documents": [{"text": "", "metadata": {"a": ' + b"[" * depth + b"]" * depth + b"}}]}",
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.decode("utf-8", "replace").encode(
            rng.choice(("utf-16", "utf-32", "utf-16-be", "cp037")), "replace"
        ),
        lambda: data.replace(b'"text"', b'"text\xff\xfe"').replace(b"zq7", b"zq7\x80\xc0\xaf\xed\xa0\x80"),
        lambda: b'{"text": "zq7marker", "k": 1' + b"0" * rng.choice((20, 400, 5_000)) + b"}",
        lambda: b'{"text": "zq7marker", "threshold": 1e' + b"9" * rng.choice((3, 400)) + b"}",
        lambda: b'{"text": "a", "text": "zq7marker", "text": null}',
        lambda: b'{"text": "zq7marker" /* */, }',
        lambda: b'{"text": "zq7marker\x00\x01\n"}',
        lambda: b'{"text": "\\ud800zq7marker\\udc00"}',
        lambda: b"",
        lambda: rng.randbytes(rng.randrange(2_000)),
        lambda: b"null",
        lambda: b'"' + b"\\u0000" * 3_000 + b'"',
    )
    return sent(rng, known, "POST", target, [("Content-Type", JSON)], rng.choice(kinds)())


def many_values(rng: random.Random, known: Known) -> Sent:
    """A body of megabytes: of one text, of millions of small values, of fields that nobody knows."""
    n = rng.choice((300_000, 3_000_000, 9_000_000, 10_100_000, 12_000_000))
    kinds = {
        f"/api/models/{PROJECT}/tag": (
            (b'{"text": "', b"x ", b'"}'),
            (b'{"text": "', b"\\u00e9", b'"}'),
            (b'{"documents": [', b"1,", b"1]}"),
            (b'{"documents": [', b'{"text":1},', b"1]}"),
            (b'{"only": [', b'"",', b'""], "text": ""}'),
            (b'{"text": "a", "a', b'":1,"b', b'": 1}'),
        ),
        f"/v1/projects/{PROJECT}/suggest": (
            (b'{"text": "", "a": [', b"[],", b"1]}"),
            (b'{"text": "", "a": [', b"{},", b"1]}"),
            (b'{"text": "', b"marker ", b'"}'),
        ),
        f"/v1/projects/{PROJECT}/suggest-batch": (
            (b'{"documents": [{"text": "", "metadata": {"a": [', b"[],", b"1]}}]}"),
            (b'{"documents": [', b'{"text":""},', b"1]}"),
            (b'{"documents": [', b"{},", b"{}]}"),
        ),
        f"/v1/projects/{PROJECT}/learn": (
            (b"[", b"{},", b"{}]"),
            (b'[{"text":"","subjects":[', b'{"uri":""},', b"{}]}]"),
        ),
        f"/v1/projects/{PROJECT}/reconcile": (
            (b'{"queries": {"a', b'":{},"b', b'":{}}}'),
            (b'{"queries": "', b"[", b'"}'),
        ),
        "/v1/detect-language": ((b'{"languages": [', b'"",', b'""], "text": ""}'), (b'{"text": "', b"a", b'"}')),
        f"/api/models/{PROJECT}/decisions": ((b'{"text": "', b"z", b'"}'), (b'{"added": [', b'"a",', b'"a"]}')),
    }
    target = rng.choice(list(kinds))
    first, often, last = rng.choice(kinds[target])
    body = first + often * (n // len(often)) + last
    form = rng.random() < 0.2
    if form:
        target = f"/v1/projects/{PROJECT}/suggest"
        body = rng.choice((b"text=" + b"a+" * (n // 2), b"a=&" * (n // 3), b"%" * n, b"text=" + b"%C3%A9" * (n // 6)))
    return sent(rng, known, "POST", target, [("Content-Type", FORM if form else JSON)], body, may_be_cut=True)


def forms(rng: random.Random, known: Known) -> Sent:
    """Annif's forms: numbers beyond all bounds, encodings, fields twice, or many of them."""
    fields = [("text", text(rng)), ("limit", "5")]
    name = rng.choice(("limit", "threshold", "language", "metadata_title", "text", "queries", f"x{rng.randrange(9)}"))
    fields.insert(
        rng.randrange(3), (name, rng.choice((*NUMBERS, text(rng), str(number(rng)), '{"q0": {"query": "a"}}')))
    )
    if rng.random() < 0.05:
        fields *= rng.choice((30, 100, 3_000))
    body = "&".join(f"{key}={quote_plus(one, errors='surrogatepass')}" for key, one in fields).encode()
    if rng.random() < 0.3:
        body = with_noise(rng, body)
    kind = FORM + (f"; charset={rng.choice(CHARSETS)}" if rng.random() < 0.3 else "")
    where = rng.choice(("suggest", "suggest", "reconcile", "reconcile/tag"))
    return sent(
        rng, known, "POST", f"/v1/projects/{project(rng)}/{where}", [("Content-Type", kind)], body, is_http=False
    )


def content_types(rng: random.Random, known: Known) -> Sent:
    """A body of one kind, said to be of another, or of none."""
    target, body = json_requests(rng, known)
    data = rng.choice((dumped(rng, body), b"text=zq7marker+lifeboat", b"--x\r\n\r\n", b""))
    kind = rng.choice((*TYPES, f"{JSON}; charset={rng.choice(CHARSETS)}", None))
    headers = [("Content-Type", kind)] if kind is not None else []
    headers += [("Content-Type", rng.choice(TYPES))] if rng.random() < 0.1 else []
    headers += (
        [("Content-Encoding", rng.choice(("gzip", "br", "deflate", "identity", "x")))] if rng.random() < 0.2 else []
    )
    return sent(rng, known, "POST", target, headers, data, is_http=False, way="fresh")


def multipart(rng: random.Random, known: Known) -> Sent:
    """Forms in parts: boundaries that do not fit, parts without end or name, names that lead elsewhere."""
    boundary = rng.choice(("x", "x" * 70, "x" * 3_000, "a b", '"q"', "--", "\xff", "é", "=_?:"))
    names = (
        "text",
        "text",
        "text",
        "file",
        "file",
        "file",
        "limit",
        "queries",
        "../../x",
        "a\0b",
        'a"b',
        "x" * 5_000,
        "",
        "é",
        "text*",
    )
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3, 5, 250))):
        file_name = rng.choice((*names, "a.txt", "a.docx", "a.pdf", "..%2fa.txt", "C:\\a.txt"))
        file = f'; filename="{file_name}"'
        head = f'Content-Disposition: form-data; name="{rng.choice(names)}"{file if rng.random() < 0.5 else ""}'
        more = rng.choice(
            (
                "",
                "\r\nContent-Type: text/plain; charset=utf-7",
                "\r\nContent-Transfer-Encoding: base64",
                "\r\nA: " + "b" * 10_000,
                "\r\n: x",
                "\r\nA\0B: c",
            )
        )
        parts.append(f"--{boundary}\r\n{head}{more}\r\n\r\n{text(rng)}\r\n")
    body = "".join(parts).encode("utf-8", "surrogatepass") + f"--{boundary}--\r\n".encode()
    kind = rng.randrange(6)
    if kind == 0:
        body = body[: rng.randrange(len(body))]
    elif kind == 1:
        body = with_noise(rng, body)
    elif kind == 2:
        body = body.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\n\r\n")))
    said = rng.choice((boundary, boundary, boundary, "other", ""))
    more = rng.choice(("", "", "; charset=" + rng.choice(CHARSETS), "; boundary=second"))
    targets = ("/api/text", f"/v1/projects/{PROJECT}/suggest", f"/v1/projects/{PROJECT}/reconcile")
    headers = [("Content-Type", f"multipart/form-data; boundary={said}{more}")]
    return sent(rng, known, "POST", rng.choice(targets), headers, body, is_http=False, way="fresh")


def queries(rng: random.Random, known: Known) -> Sent:
    """Addresses with fields after the question mark."""
    own, label = project(rng), rng.choice(known.labels)
    odd = rng.choice((*NUMBERS, text(rng)[:300], str(number(rng)), label, "%00", "%ff", "%", "a" * 3_000))
    name = rng.choice(
        ("limit", "cursor", "after", "language", "prefix", "id", "queries", "include_undone", "by", "threshold")
    )
    method, path = rng.choice(
        (
            ("GET", f"/api/models/{own}/labels"),
            ("GET", f"/api/models/{own}/label"),
            ("DELETE", f"/api/models/{own}/label"),
            ("GET", f"/api/models/{own}/decisions"),
            ("GET", f"/api/models/{own}/review"),
            ("GET", "/api/jobs"),
            ("GET", f"/v1/projects/{own}/reconcile"),
            ("GET", f"/v1/projects/{own}/reconcile/tag"),
            ("GET", f"/v1/projects/{own}/reconcile/suggest/entity"),
            ("POST", f"/v1/projects/{own}/suggest-batch"),
            ("GET", f"/api/models/{own}/decisions/{_shortened(odd)}"),
            ("POST", f"/api/models/{own}/decisions/3/undo"),
            ("DELETE", f"/api/models/{own}/review/{_shortened(odd)}"),
            ("GET", f"/api/jobs/{_shortened(odd)}"),
            ("POST", f"/api/jobs/{_shortened(odd)}/cancel"),
            ("POST", f"/api/models/{own}/versions/{_shortened(odd)}"),
            ("GET", f"/api/models/{own}"),
            ("GET", f"/v1/projects/{own}"),
            ("GET", f"/api/models/{own}/learn"),
        )
    )
    asked = f'{{"q0": {{"query": {odd!r}, "limit": {rng.choice(NUMBERS)}}}}}' if name == "queries" else odd
    fields = [f"{name}={_escaped(asked)}"] * rng.choice((1, 1, 1, 2, 200))
    if rng.random() < 0.5:
        fields.append(f"{rng.choice(('limit', 'prefix', 'id', 'x'))}={_escaped(odd)}")
    body = b'{"documents": [{"text": "zq7marker"}]}' if method == "POST" else None
    return sent(rng, known, method, f"{path}?{'&'.join(fields)}", [("Content-Type", JSON)], body, is_http=False)


def _escaped(one: str) -> str:
    return one if one.startswith("%") else quote(one, safe="", errors="surrogatepass")


def _shortened(one: str) -> str:
    """In an address, which may be logged."""
    return _escaped(one.replace(MARKER, "")[:60])


def with_noise(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(found) + 1)
        found[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(found)
