"""The same functions on many machines, by Ray: who runs the jobs of `workflow/`, and how data get to them.

- Ray is the engine: Core runs jobs (`executor.py`), Data streams files through a pool of actors (`tag.py`), Serve
  answers callers (`serve.py`). No scheduler, no queue and no protocol is ours.
- This part is thin. `workflow/` gets an executor in its `Run`; no method imports anything from here, and none asks
  whether there is a cluster. Without Ray all else works; with it the results are the same, bit by bit where they are
  the same on one machine.
- A model travels as its folder (`carry.py`): a node that sees the very folder maps it there; any other node gets its
  files once, and all its processes map these.
- Files of documents are read and written by the node that works on them: a folder that all nodes see, or any address
  that fsspec knows (`shards.py`). Nothing of them passes through the process that gave the command.
- What is done stays done: a file that was tagged is there as a whole (`tag.py`), a job that was fitted is in the job
  cache of the fit (tagger/job_cache.py), kept where the command was given. The same command goes on from there.
- Ray tries again what a worker or a node took with it, a few times. What an expert or a file is to blame for comes back
  as our error in one line, with the node's name (`errors.py`).
- Progress of all tasks goes to the one display of the command, by Ray's queue (`progress.py`).
"""
