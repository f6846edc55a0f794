"""Returns what uvicorn derives from the headers of a trusted proxy."""

import os

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route


async def seen(request: Request) -> JSONResponse:
    return JSONResponse(
        {"scheme": request.url.scheme, "host": request.url.netloc, "client": request.client.host}
    )


async def there(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("there")


# A path without its trailing slash is redirected to the absolute URL.
app = Starlette(routes=[Route("/seen", seen), Route("/there/", there)])
uvicorn.run(
    app,
    host="127.0.0.1",
    port=int(os.environ["PORT"]),
    proxy_headers=True,
    forwarded_allow_ips="127.0.0.1",
    log_level="error",
)
