# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""Django with the middleware, under WSGI and under ASGI."""

from __future__ import annotations

import types
from typing import Any

import pytest

from agent_compliance import Reporter, current_behavior
from fake_sidecar import FakeSidecar
from integrations.test_fastmcp import serving
from integrations.test_flask import serving_wsgi
from integrations.web import async_parts, check, parts, work


def configure() -> Any:
    """A project in this process, with a synchronous and an asynchronous view."""
    import django
    from django.conf import settings
    from django.http import HttpResponse, StreamingHttpResponse
    from django.urls import path

    def view(request: Any) -> Any:
        if request.path == "/stream":
            current_behavior().begin()
            return StreamingHttpResponse(parts())
        return HttpResponse(work(request.path))

    async def async_view(request: Any) -> Any:
        if request.path == "/stream":
            current_behavior().begin()
            return StreamingHttpResponse(async_parts())
        return HttpResponse(work(request.path))

    urls: Any = types.ModuleType("urls")
    urls.sync = [path("<path:path>", lambda request, path: view(request))]

    async def routed(request: Any, path: str) -> Any:
        return await async_view(request)

    urls.asynchronous = [path("<path:path>", routed)]
    if not settings.configured:
        settings.configure(
            ROOT_URLCONF=urls,
            ALLOWED_HOSTS=["*"],
            SECRET_KEY="key",
            LOGGING_CONFIG=None,
            MIDDLEWARE=[
                "agent_compliance.integrations.django.Middleware",
                "django.middleware.common.CommonMiddleware",
            ],
        )
        django.setup()
    settings.ROOT_URLCONF = urls
    return urls


@pytest.mark.parametrize("view", ["sync", "asynchronous"])
@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
def test_django(interface: str, view: str, sidecar: FakeSidecar, reporter: Reporter) -> None:
    from django.core.asgi import get_asgi_application
    from django.core.wsgi import get_wsgi_application
    from django.urls import clear_url_caches

    urls = configure()
    urls.urlpatterns = getattr(urls, view)
    clear_url_caches()
    if interface == "wsgi":
        with serving_wsgi(get_wsgi_application()) as url:
            check(url, reporter, sidecar)
    else:
        with serving(get_asgi_application()) as url:
            check(url, reporter, sidecar)
