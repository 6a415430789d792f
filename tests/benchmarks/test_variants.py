"""Variants of the blend are measured by changing constants: each of them must be there to be changed."""

from __future__ import annotations

import pytest
from benchmarks.run.tagger_choices import VARIANTS

from everylabel.tagger import blend, candidates, order
from everylabel.tagger.tagger import Tagger


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_a_variant_changes_is_there(variant: str) -> None:
    for name in VARIANTS[variant]:
        owner = (candidates, blend, order) if name.isupper() else (Tagger,)
        assert any(hasattr(one, name) for one in owner), name
