"""The tiny data of the command line's tests, its models, and a run that writes down what it hears."""

from __future__ import annotations

import pytest
from tests.cli import conftest as cli
from tests.listening import Recorder

from everylabel.run import Run

data, model, sampled = cli.data, cli.model, cli.sampled
fitted_tagger, tagger = cli.fitted_tagger, cli.tagger


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def run(recorder: Recorder) -> Run:
    return Run(reporter=recorder)
