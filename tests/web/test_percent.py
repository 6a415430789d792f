"""Percent-encoded bytes: as the standard library reads them, in far less memory."""

from __future__ import annotations

import time
import tracemalloc
from urllib.parse import parse_qsl, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.web import percent
from everylabel.web.bodies import form_fields
from everylabel.web.percent import unquoted

PARTS = [b"%", b"%4", b"%41", b"%C3%A9", b"%zz", b"+", b"a", b"%%", b"%2B", b"\xff"]
PARTS += [b"=", b"%3D", b"\r\n", b"\n", b"\r", b"\t", b" ", b"_", b".", b"\0", b"%0D%0A", b"%20"]
parts = st.lists(st.sampled_from(PARTS)).map(b"".join)


@given(parts, st.sampled_from([3, 4, 7, 1 << 16]), st.sampled_from([0, 3, 1_000]))
def test_as_the_standard_library(value: bytes, piece: int, few: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(percent, "PIECE", piece)
        patched.setattr(percent, "FEW", few)
        assert unquoted(value) == unquote_to_bytes(value.replace(b"+", b" "))


@given(st.text(alphabet="ab=&%+4é"))
def test_forms_as_the_standard_library_reads_them(form: str) -> None:
    pairs = parse_qsl(form, keep_blank_values=True, errors="replace")
    assert form_fields(form.encode()) == dict(reversed(pairs))


@pytest.mark.parametrize("often", [b"%", b"%C3%A9", "%é".encode()])
def test_ten_megabytes_of_escapes_take_little(often: bytes) -> None:
    body = b"text=" + often * (10_000_000 // len(often))
    tracemalloc.start()
    started = time.monotonic()
    form_fields(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80_000_000
    assert time.monotonic() - started < 4
