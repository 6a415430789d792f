"""What the command line does, as functions that a server or another machine can call: one file a task.

Nothing is printed here, and nobody is asked: results are values, failures are `everylabel.errors`, progress goes to the
`run` that is handed in. `cli/`, `web/` and `distributed/` stand on this and never import each other.
"""
