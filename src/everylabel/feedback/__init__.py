"""What people decide about tags, kept in a database and learned: above `workflow`, below a server and the command line.

`decisions.py` (values), `database.py` and `schema.py` (SQLite or PostgreSQL), `store.py`, `learning.py`, `versions.py`,
`review.py`, `jobs.py`. Needs SQLAlchemy: the extra `server`, and `postgres` for PostgreSQL.
"""
