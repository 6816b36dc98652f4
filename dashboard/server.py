"""Options of Streamlit's server, which is not started where it would let anyone in.

Every answer forbids other sites to frame the app, and scripts, styles and requests that lead elsewhere.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit import config

import crowdcore.core.garbage  # noqa: F401
from crowdcore.core.spelling import log_visibly
from crowdcore.data.tour import DEMO
from dashboard.access import AccessError, sign_in_settings
from dashboard.pages import REDIRECTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import streamlit as st
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' blob:",  # Streamlit's page has a line of script; components come as blobs
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' blob: data:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Headers:
    """Add `HEADERS` to every HTTP answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _font(_: Request) -> Response:
    """The font that paper.js puts into figures."""
    from crowdcore.figures.paper import FONT  # not before the app listens

    return FileResponse(FONT, media_type="font/woff")


def _base() -> str:
    """Path of the app on its server: empty, or beginning with a slash."""
    return "".join(f"/{part}" for part in str(config.get_option("server.baseUrlPath")).split("/") if part)


def _redirect(request: Request) -> Response:
    """Lead from a page's title or former address to its address."""
    there = REDIRECTS[request.url.path.rpartition("/")[2]]
    return RedirectResponse(f"./{there}?{request.url.query}")


def _warm() -> None:
    """Import what pages need while a browser still loads Streamlit."""
    from crowdcore.aggregation import aggregators
    from crowdcore.exhibits import mistakes, workers  # noqa: F401
    from dashboard.components import exhibit  # noqa: F401

    aggregators.usable()


@asynccontextmanager
async def _running(_: st.App) -> AsyncIterator[None]:
    """Open a browser unless headless; print the size of the cache at the end."""
    threading.Thread(target=_warm, daemon=True).start()
    if not config.get_option("server.headless"):
        url = f"http://{config.get_option('server.address')}:{config.get_option('server.port')}"
        threading.Timer(0.5, webbrowser.open, [url]).start()
    yield
    from crowdcore.exhibits.exhibit import cache_size  # not before the app listens

    kept, most = cache_size()
    print(f"Results kept in memory at the end: {kept / 1e6:,.0f} MB of at most {most / 1e6:,.0f} MB")


def server_options() -> dict[str, Any]:
    """Prepare this process, and return the arguments of `st.App`; end it where anyone would be let in."""
    log_visibly("dashboard")
    os.umask(os.umask(0o077) | 0o077)  # what the app and its engine write is for their user alone
    try:
        sign_in_settings()
    except AccessError as fault:
        print(f"crowdcore: {fault}", file=sys.stderr)
        sys.exit(2)
    if sys.argv[1:2] not in ([], [DEMO]):  # which is ours, and opened without it
        from crowdcore.core import confined

        confined.server.start()
    return {
        "routes": [
            Route("/{base:path}sans.woff", _font),
            *(Route(f"{_base()}/{name}", _redirect) for name in REDIRECTS),
        ],
        "middleware": [Middleware(Headers)],
        "lifespan": _running,
    }
