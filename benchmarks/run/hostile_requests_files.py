"""Hostile uploads: entities that grow or reach out, archives and streams that unpack to gigabytes, damaged files.

Addresses of all kinds are in them, and in fields: no server asks there (a listener counts), as nothing here fetches.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from functools import cache

from benchmarks.run.hostile_requests_bodies import with_noise
from benchmarks.run.hostile_requests_server import PROJECT
from benchmarks.run.hostile_requests_texts import FORM, JSON, Known, sent, text
from benchmarks.run.hostile_requests_wire import MARKER, Sent

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "%s"
    "</Relationships>"
)
TENFOLD = "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 11))
LAUGHS = f"<!DOCTYPE d [<!ENTITY a0 'ha ha ha ha '>{TENFOLD}]>"

HOSTS = (
    *(
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "[::1]",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "0177.0.0.1",
    ),
    *("10.0.0.1", "169.254.169.254", "[fd00::1]", "[fe80::1%25lo]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "0", "x"),
    *("inner.example", "both.example", "changing.example", "public.example", "user:secret@public.example"),
)


def files(rng: random.Random, known: Known) -> Sent:
    """Small files that are damaged, or whose XML wants more than is in it."""
    here, away = known.secret.as_uri(), f"http://127.0.0.1:{known.sink}/{MARKER}"
    xml = rng.choice(
        (
            (LAUGHS, "&a10;"),
            ("<!DOCTYPE d [<!ENTITY a '%s'>]>" % ("ha " * 20_000), "&a;" * 3_000),  # quadratic
            (f"<!DOCTYPE d [<!ENTITY a SYSTEM '{here}'>]>", "&a;"),
            (f"<!DOCTYPE d [<!ENTITY a SYSTEM '{away}'>]>", "&a;"),
            (f"<!DOCTYPE d SYSTEM '{away}.dtd'>", "x"),
            (f"<!DOCTYPE d [<!ENTITY % a SYSTEM '{away}.dtd'> %a;]>", "x"),
            ("", "<w:t>" * rng.choice((300, 5_000))),
            ("", text(rng).replace("<", "").replace("&", "")),
        )
    )
    elsewhere = rng.choice((away, here, "../../../etc/passwd"))
    relation = f'<Relationship Id="r2" Type="x" Target="{elsewhere}" TargetMode="External"/>'
    name, data = rng.choice(
        (
            ("a.docx", docx(document(*xml), RELATIONS % rng.choice(("", relation)))),
            ("a.docx", docx(document(*xml), RELATIONS % "", extra={"../../../../tmp/zq7marker": b"x", "/etc/x": b"y"})),
            ("a.docx", with_noise(rng, docx(document("", "x"), RELATIONS % ""))),
            (
                "a.pdf",
                pdf(rng.choice((b"BT /F1 9 Tf (zq7marker boats) Tj ET", b"q " * 5_000, rng.randbytes(300))), away),
            ),
            ("a.pdf", with_noise(rng, pdf(b"BT /F1 9 Tf (zq7marker) Tj ET", away))),
            ("a.pdf", b"%PDF-1.7\n" + rng.randbytes(500)),
            ("a.txt", rng.randbytes(200)),
            ("a.txt", text(rng).encode("utf-8", "surrogatepass")),
            ("a.md", b"---\n" + b"a: &a [*a]\n" * 50 + b"---\n# zq7marker"),
            (
                rng.choice(("a.html", "a.odt", "a.epub", "a.exe", "a", ".docx", "a.docx\0.txt", "a.PDF ")),
                docx(document(*xml), RELATIONS % ""),
            ),
        )
    )
    return uploaded(rng, known, name, data)


def bombs(rng: random.Random, known: Known) -> Sent:
    """Archives and streams that unpack to far more than they are."""
    return uploaded(rng, known, *_bomb(6 if rng.random() < 0.05 else rng.randrange(6)), way="fresh")


def addresses(rng: random.Random, known: Known) -> Sent:
    """Where an address is a value: nobody goes there."""
    host = rng.choice(
        ("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]")
    )
    scheme = rng.choice(("http", "https", "ftp", "gopher", "jar", "dict"))
    address = rng.choice((f"{scheme}://{host}:{known.sink}/{MARKER}", known.secret.as_uri(), f"//{host}:{known.sink}/"))
    target, kind, body = rng.choice(
        (
            (f"/v1/projects/{PROJECT}/suggest", FORM, f"text={address}&url={address}&metadata_url={address}"),
            (f"/api/models/{PROJECT}/tag", JSON, f'{{"text": "{address}", "url": "{address}"}}'),
            (
                f"/api/models/{PROJECT}/tag",
                JSON,
                f'{{"text": "{address}", "only": ["{address}"], "schemes": ["{address}"]}}',
            ),
            ("/api/text", FORM, f"url={address}"),
            ("/api/text", JSON, f'{{"url": "{address}"}}'),
            ("/api/jobs", JSON, f'{{"kind": "fit", "project": "x", "data": "{address}"}}'),
            (
                "/api/jobs",
                JSON,
                f'{{"kind": "evaluate", "project": "{PROJECT}", "data": "{address}", "split": "--{address}"}}',
            ),
            (f"/v1/projects/{PROJECT}/learn", JSON, f'[{{"text": "{address}", "subjects": [{{"uri": "{address}"}}]}}]'),
            (
                f"/v1/projects/{PROJECT}/reconcile",
                JSON,
                f'{{"queries": {{"q": {{"query": "{address}", "type": "{address}"}}}}}}',
            ),
        )
    )
    return sent(rng, known, "POST", target, [("Content-Type", kind), ("Referer", address)], body.encode())


def fetched(rng: random.Random, known: Known) -> Sent:
    """Addresses that lead inside: by themselves, by redirects, by names that change."""

    def address() -> str:
        scheme = rng.choice(("http", "http", "http", "https", "ftp", "file", "gopher"))
        port = rng.choice(("", "", "", f":{known.sink}", ":22"))
        return f"{scheme}://{rng.choice(HOSTS)}{port}/"

    url = address() if rng.random() < 0.8 else rng.choice((known.secret.as_uri(), "http://public.example/"))
    if rng.random() < 0.01:  # the site sends 56 MB
        url = "http://public.example/huge"
    for _ in range(rng.randrange(4)):
        url = f"http://{rng.choice(('public', 'changing'))}.example/to/{url}"
    return sent(rng, known, "POST", "/api/url", [("Content-Type", JSON)], json.dumps({"url": url}).encode())


def uploaded(rng: random.Random, known: Known, name: str, data: bytes, **more: object) -> Sent:
    head = f'--zq7\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    headers = [("Content-Type", "multipart/form-data; boundary=zq7")]
    return sent(
        rng, known, "POST", "/api/text", headers, head + data + b"\r\n--zq7--\r\n", may_be_cut=len(data) > 10**6, **more
    )


def document(opening: str, content: str) -> bytes:
    body = f"<w:body><w:p><w:r><w:t>{content}</w:t></w:r></w:p></w:body>"
    return f"<?xml version='1.0'?>{opening}<w:document {W}>{body}</w:document>".encode("utf-8", "replace")


def docx(body: bytes, relations: str, extra: dict[str, bytes] | None = None, *, times: int = 1) -> bytes:
    """A Word file; `times`: as often is its body written, one after the other."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", TYPES)
        packed.writestr("_rels/.rels", relations)
        with packed.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(times):
                part.write(body)
        for name, data in (extra or {}).items():
            packed.writestr(name, data)
    return found.getvalue()


def pdf(content: bytes, address: str = "", *, filters: str = "", n_pages: int = 1) -> bytes:
    pages = " ".join(["3 0 R"] * n_pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /URI /URI (%s) >> >>" % address.encode(),
        f"<< /Type /Pages /Kids [{pages}] /Count {n_pages} >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters.encode(), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    found = b"%PDF-1.7\n"
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return found + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(found),
    )


@cache
def _bomb(number: int) -> tuple[str, bytes]:
    def packed(times: int, data: bytes = b"\0" * 1_000_000) -> bytes:
        packer = zlib.compressobj(9)
        return b"".join(packer.compress(data) for _ in range(times)) + packer.flush()

    deflated = "/Filter /FlateDecode"
    if number == 0:  # says how large it is: 400 MB
        return "a.docx", docx(b"<w:t>" + b"ha " * 330_000, RELATIONS % "", times=400)
    if number == 1:  # lies about it
        data = docx(b" " * 1_000_000, RELATIONS % "", times=320)
        return "a.docx", data.replace((320_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    if number == 2:  # just below what is read
        return "a.docx", docx(document("", "boats " * 30_000_000), RELATIONS % "")
    if number == 3:
        return "a.docx", docx(document("", "x"), RELATIONS % "", {f"word/{i}.xml": b"" for i in range(30_000)})
    if number == 4:
        return "a.pdf", pdf(packed(300), filters=deflated)
    if number == 5:  # packed twice
        return "a.pdf", pdf(zlib.compress(packed(400), 9), filters="/Filter [/FlateDecode /FlateDecode]")
    return "a.pdf", pdf(packed(20, b"BT /F1 9 Tf (boats) Tj ET " * 2_000), filters=deflated, n_pages=3_000)
