"""Files of documents tagged by all cores of a cluster: Ray Data hands them, one by one, to a pool of actors (pool.py).

Each turns one file at a time into one file of JSON lines, batch by batch: memory is that of the actors, whatever there
is to tag. A result that is there is whole, so the same command goes on with those that are not. A file that is to blame
for an error is left, and named at the end; one whose actor was killed, or whose node had no room, is tried again. A
file is the unit: give many more of them than there are cores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import NamedTuple

from everylabel import __version__
from everylabel.atomic import replaced
from everylabel.distributed.carry import Carried
from everylabel.distributed.cluster import cluster
from everylabel.distributed.pool import Asked, Row, rows
from everylabel.distributed.progress import Far, heard
from everylabel.distributed.shards import Shard, absolute, find_shards, read_text, results, writable
from everylabel.errors import ClusterError, DataError, EverylabelError
from everylabel.run import QUIET, Run
from everylabel.store import load
from everylabel.workflow.lines import json_text

ABOUT = "tagging.json"  # in the folder of results: by what they were made
TAGGING = "tagging"


class TaggedShards(NamedTuple):
    n_files: int
    n_docs: int
    n_bad: int  # rows that were skipped
    n_before: int  # files that had been tagged before


def tag_shards(model: Path, given: str, output: str, asked: Asked, *, run: Run = QUIET) -> TaggedShards:
    """All files of `given` (a path, a pattern, a folder, an address) to the folder `output`, on a connected cluster."""
    load(model)  # what is wrong with it is said here, and once
    output = absolute(output)
    found = find_shards(given, without=output)
    carried = Carried.of(model)
    known = _known(output, _about(carried, asked))
    left = [shard for shard in found if shard.name not in known]
    n_before = len(found) - len(left)
    if n_before:
        run.say(f"{n_before:,} of {len(found):,} files have been tagged before")
    done = TaggedShards(len(left), 0, 0, n_before)
    if not left:
        return done
    run.say(f"tagging {len(left):,} files on {cluster()}")
    failed = list[Row]()
    with heard(run, merged=TAGGING) as reporter, run.task("files", len(left)) as advance:
        for row in _rows(left, carried, asked, output, reporter):
            advance(1)
            if row.error:
                failed.append(row)
                run.say(row.error)
            done = done._replace(n_docs=done.n_docs + row.n_docs, n_bad=done.n_bad + row.n_bad)
    if failed:
        raise _error_of(failed, len(found))
    return done


def _rows(left: Sequence[Shard], model: Carried, asked: Asked, output: str, reporter: Far | None) -> Iterator[Row]:
    """One a file. What nodes are to blame for is given to the others, as long as there are any."""
    to_blame = set[str]()
    while left:
        there, again = cluster().without(to_blame), dict[str, Row]()
        for row in rows(left, model, asked, output, reporter, there, to_blame):
            if row.node:
                again[row.name] = row
            else:
                yield row
        to_blame |= {row.node for row in again.values()}
        if not cluster().without(to_blame).cores:
            yield from again.values()
            return
        left = [shard for shard in left if shard.name in again]


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


def _error_of(failed: Sequence[Row], n_files: int) -> EverylabelError:
    first = failed[0]
    message = f"{len(failed):,} of {n_files:,} files could not be tagged; the others are done. The first: {first.error}"
    kinds = {kind.exit_code: kind for kind in (DataError, ClusterError)}
    return kinds.get(first.code, EverylabelError)(message)
