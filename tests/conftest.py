"""Which tests run in one process when there are several (`make test` has one for each core): those that share fits."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        case = getattr(item, "callspec", None)
        method = case.params.get("case") if case is not None else None  # of the contract: fitted once for its tests
        group = item.nodeid.partition("::")[0] + (f" {method}" if method is not None else "")
        item.add_marker(pytest.mark.xdist_group(group))
