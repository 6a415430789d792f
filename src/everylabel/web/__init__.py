"""The server: Annif's interface (`/v1`), our own (`/api`), reconciliation, and a page, over `workflow` and `feedback`.

`create_app(projects, settings)` in app.py is a value: an ASGI application. running.py serves it by uvicorn.
"""
