"""Files of documents tagged by all cores of a cluster: Ray Data hands them, one by one, to a pool of actors.

An actor has one core, maps the model, and turns one file at a time into one file of JSON lines, batch by batch: memory
is that of the actors, whatever there is to tag. A result that is there is whole, so the same command goes on with those
that are not. A file that is to blame for an error is left, and named at the end; one whose actor was killed is tried
again. A file is the unit: give many more of them than there are cores.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from everylabel import __version__
from everylabel.atomic import replaced
from everylabel.data.formats.layout import Layout
from everylabel.data.formats.rows import OnBadRow
from everylabel.distributed.carry import Carried
from everylabel.distributed.cluster import check_version, cluster, on_this_node
from everylabel.distributed.errors import said_where, told_here
from everylabel.distributed.progress import Far, heard
from everylabel.distributed.shards import Shard, find_shards, read_text, readable, results, writable
from everylabel.errors import ClusterError, DataError, EverylabelError
from everylabel.run import QUIET, Run
from everylabel.store import load
from everylabel.workflow.lines import json_text
from everylabel.workflow.tag import suggest
from everylabel.workflow.tag_file import TaggedFile, tag_file

ABOUT = "tagging.json"  # in the folder of results: by what they were made
TRIED = 5  # times that a file is begun again after its actor was killed
TAGGING = "tagging"


@dataclass(frozen=True)
class Asked:
    """How files are read and tagged. `options`: of `workflow.tag.suggest`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    on_bad_row: OnBadRow = "error"
    layout: Layout = field(default_factory=Layout)


class TaggedShards(NamedTuple):
    n_files: int
    n_docs: int
    n_bad: int  # rows that were skipped
    n_before: int  # files that had been tagged before


class _Tries:
    """An actor that counts how often each file was begun."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, name: str) -> int:
        self._begun[name] += 1
        return self._begun[name]


class _Tagging:
    """An actor of the pool."""

    def __init__(
        self, model: Carried, asked: Asked, output: str, tries: Any, reporter: Far | None, version: str
    ) -> None:
        with said_where():
            check_version(version)
            self._suggest = partial(suggest, load(model.folder()), **asked.options)
        self._asked, self._output, self._tries = asked, output, tries
        self._run = Run(reporter=reporter)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """What is wrong with a file is a part of the answer: the others go on."""
        shard = Shard(row["source"], row["name"])
        found = {"name": shard.name, "n_docs": 0, "n_bad": 0, "error": "", "code": 0}
        try:
            with said_where():
                done = self._tag(shard)
        except EverylabelError as error:
            return found | {"error": str(error), "code": error.exit_code}
        return found | {"n_docs": done.n_docs, "n_bad": done.n_bad}

    def _tag(self, shard: Shard) -> TaggedFile:
        import ray

        asked, n_killed = self._asked, ray.get(self._tries.begin.remote(shard.name)) - 1
        if n_killed > TRIED:  # Ray itself would go on for ever
            raise ClusterError(
                f"{shard.source}: who tags it is killed each time, {n_killed} times so far: is it large?"
            )
        with readable(shard.source) as source, writable(self._output, shard.name) as target:
            return tag_file(source, target, self._suggest, on_bad_row=asked.on_bad_row, run=self._run, **asked.layout)


def tag_shards(model: Path, given: str, output: str, asked: Asked, *, run: Run = QUIET) -> TaggedShards:
    """All files of `given` (a path, a pattern, a folder, an address) to the folder `output`, on a connected cluster."""
    load(model)  # what is wrong with it is said here, and once
    found = find_shards(given, without=output)
    there = cluster()
    carried = Carried.of(model, send=len(there.nodes) > 1)
    known = _known(output, _about(carried, asked))
    left = [shard for shard in found if shard.name not in known]
    n_before = len(found) - len(left)
    if n_before:
        run.say(f"{n_before:,} of {len(found):,} files have been tagged before")
    done = TaggedShards(len(left), 0, 0, n_before)
    if not left:
        return done
    run.say(f"tagging {len(left):,} files on {there}")
    failed: list[dict[str, Any]] = []
    with heard(run, merged=TAGGING) as reporter, run.task("files", len(left)) as advance:
        for row in _rows(left, carried, asked, output, reporter, max(1, min(there.cores, len(left)))):
            advance(1)
            if row["error"]:
                failed.append(row)
                run.say(row["error"])
            done = done._replace(n_docs=done.n_docs + row["n_docs"], n_bad=done.n_bad + row["n_bad"])
    if failed:
        raise _error_of(failed, len(found))
    return done


def _rows(
    shards: Sequence[Shard], model: Carried, asked: Asked, output: str, reporter: Far | None, n_actors: int
) -> Iterator[dict[str, Any]]:
    """A row a file, as soon as it is done."""
    os.environ.setdefault("RAY_DATA_LOG_LEVEL", "CRITICAL")  # the display is ours
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # where it has been imported before
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = False
    rows = [shard._asdict() for shard in shards]
    tries = ray.remote(num_cpus=0, scheduling_strategy=on_this_node())(_Tries).remote()
    tagged = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        _Tagging,
        fn_constructor_args=(model, asked, output, tries, reporter, __version__),
        compute=ray.data.ActorPoolStrategy(
            min_size=1, max_size=n_actors, initial_size=n_actors, max_tasks_in_flight_per_actor=1
        ),
        num_cpus=1,
    )
    with told_here("tagging"):
        yield from tagged.iter_rows()


def _about(model: Carried, asked: Asked) -> str:
    """What results depend on, beside their files."""
    return json_text({"everylabel": __version__, "model": model.digest, **json.loads(_plain(asked))}, indent=2)


def _plain(asked: Asked) -> str:
    return json.dumps(
        {"options": dict(asked.options), "on_bad_row": asked.on_bad_row, "layout": dict(asked.layout)},
        default=lambda value: asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value),
    )


def _known(output: str, about: str) -> set[str]:
    """Results that are there. Those of another model or of other options are an error: nobody could tell them apart."""
    before = read_text(output, ABOUT)
    there = results(output) - {ABOUT}
    if before == about:
        return there
    if before is not None or there:
        why = "other options, or by another model" if before is not None else "another command"
        raise DataError(f"{output}: has files that were written with {why}; choose another folder, or empty it")
    with writable(output, ABOUT) as file, replaced(file) as fresh:
        fresh.write_text(about, encoding="utf-8")
    return set()


def _error_of(failed: Sequence[dict[str, Any]], n_files: int) -> EverylabelError:
    first = failed[0]
    message = (
        f"{len(failed):,} of {n_files:,} files could not be tagged; the others are done. The first: {first['error']}"
    )
    kinds = {kind.exit_code: kind for kind in (DataError, ClusterError)}
    return kinds.get(first["code"], EverylabelError)(message)
