"""What was measured with the model that is served: by the last job of the kind evaluate that had this very model."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from everylabel.feedback.jobs import Jobs
from everylabel.web import api_models as shapes
from everylabel.web.serving import Loaded


def results_of(jobs: Jobs, loaded: Loaded) -> shapes.Results | None:
    """None: it was not measured yet. A model that came later in the same folder is another one."""
    job = jobs.last_done("evaluate", str(loaded.path))
    if job is None or datetime.fromisoformat(job.at) < loaded.modified:
        return None
    begin = f"\n{job.log}".rfind("\n{\n")
    if begin < 0:
        return None
    found = json.loads(job.log[begin:])
    return shapes.Results(
        at=job.at,
        data=Path(job.arguments[1]).name,
        split=found["split"],
        documents=found["n_docs"],
        values=found["values"],
        bands=found["bands"],
    )
