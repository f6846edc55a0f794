# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""Flask under the server of werkzeug."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agent_compliance import Reporter, current_behavior
from agent_compliance.integrations import flask
from fake_sidecar import FakeSidecar
from integrations.web import OTHER, check, parts, work


@contextmanager
def serving_wsgi(app: Any) -> Iterator[str]:
    """Serves a WSGI application in a thread."""
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


def test_flask(sidecar: FakeSidecar, reporter: Reporter) -> None:
    from flask import Flask

    app = Flask(__name__)

    @app.get("/<path>")
    def view(path: str) -> Any:
        if path == "stream":
            current_behavior().begin()
            return parts()
        return work(f"/{path}")

    flask.install(app, Reporter(OTHER, env={}))
    # The second call replaces the reporter.
    flask.install(app)
    with serving_wsgi(app) as url:
        check(url, reporter, sidecar)
