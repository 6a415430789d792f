"""A full fit on the original training data and on all that people have decided: everything learns, not the blend and
the neighbours alone."""

from __future__ import annotations

from pathlib import Path

from everylabel.feedback.store import DecisionStore
from everylabel.run import QUIET, Run
from everylabel.workflow.refit import DecidedDocument, RefitResult, refit
from everylabel.workflow.training import TrainingSource


def refit_with_decisions(
    model: Path, source: TrainingSource, store: DecisionStore, project: str, output: Path, *, run: Run = QUIET
) -> RefitResult:
    """Complete decisions that are not undone, of each document the last one. The new model remembers which, so that a
    project whose model it becomes does not learn them again."""
    decisions = [one for one in store.every(project) if one.complete and one.labels]
    latest = {one.content: one for one in decisions}
    documents = [
        DecidedDocument(id=one.document_id or f"decision {one.id}", text=one.text, title=one.title, labels=one.labels)
        for one in latest.values()
    ]
    note = {"documents": len(documents), "decisions": {"project": project, "ids": [one.id for one in decisions]}}
    return refit(model, source, documents, output, note=note, run=run)
