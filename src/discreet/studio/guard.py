"""The guard: who is answered at all. Everything else is refused before any page runs.

The studio has the microdata. A page that a browser shows beside it must neither read nor change
anything: not by another name of this machine (``Host``), nor from another site (``Origin``), nor
without the cookie of a visit, nor, where something is changed, without its proof.
"""

from __future__ import annotations

import secrets
import traceback
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from discreet.studio.private_folders import TooLarge
from discreet.studio.visits import Visit, Visits
from discreet.studio.workers import FAULT

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PROOF = "x-discreet-proof"
"""The header that shows a visit's proof."""
READING = ("GET", "HEAD")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LARGEST_FORM, LARGEST_UPLOAD = 2**20, 2**31
"""Bytes that a form may have, and what is dropped together."""
UPLOADS = ("/open/dropped/", "/audit/dropped/")
"""Where files are dropped."""
STRANGER = (
    "This is somebody's studio. Open it by the address that `discreet studio` printed, with its "
    "token."
)


class Guard:
    """Stands before all pages."""

    def __init__(self, app: ASGIApp, *, visits: Visits, hosts: frozenset[str], upload: int) -> None:
        self._app, self._visits, self._hosts = app, visits, hosts
        self._upload = upload
        port = max(hosts, key=len).rpartition(":")[2]
        self._cookie = f"discreet-{port}"  # browsers keep one jar for all ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._judge(scope)
        if answer is not None:
            await answer(scope, receive, _harden(send))
            return
        largest = self._upload if scope["path"].startswith(UPLOADS) else LARGEST_FORM
        scope["state"] = {**scope.get("state", {}), "largest": largest}
        try:
            await self._app(scope, _count(receive, largest), _harden(send))
        except TooLarge as error:
            await PlainTextResponse(str(error), 413)(scope, receive, _harden(send))
        except Exception:  # of a page itself: workers' faults come as answers
            traceback.print_exc()
            await PlainTextResponse(FAULT, 500)(scope, receive, _harden(send))

    def _judge(self, scope: Scope) -> Response | None:
        """Give the answer to whoever is not let through; else put the visit into the scope."""
        headers, path = Headers(scope=scope), scope["path"]
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("The studio does not go by this name.", 421)
        origin = headers.get("origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return PlainTextResponse("Other sites may not ask the studio.", 403)
        reading = scope["method"] in READING
        if path.startswith("/static/") and reading:
            return None
        given = QueryParams(scope["query_string"]).get("token")
        if path == "/" and reading and given is not None:
            return self._welcome(headers, given)
        visit = self._recognize(headers)
        if visit is None:
            return PlainTextResponse(STRANGER, 403)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("Other sites may not ask the studio.", 403)
        if not reading and not secrets.compare_digest(
            headers.get(PROOF, "").encode(), visit.proof.encode()
        ):
            return PlainTextResponse("The page is out of date. Load it again.", 403)
        scope["state"] = {**scope.get("state", {}), "visit": visit}
        return None

    def _welcome(self, headers: Headers, token: str) -> Response:
        """Change the token in the first address for a cookie, and take it out of the address."""
        visit = self._recognize(headers) or self._visits.admit(token)
        if visit is None:
            return PlainTextResponse(STRANGER, 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, visit.key, httponly=True, samesite="strict", path="/")
        return answer

    def _recognize(self, headers: Headers) -> Visit | None:
        try:
            jar = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None
        morsel = jar.get(self._cookie)
        return None if morsel is None else self._visits.find(morsel.value)


def _harden(send: Send) -> Send:
    """Tell the browser with every answer what it must not do with it."""

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return hardened


def _count(receive: Receive, largest: int) -> Receive:
    """Count what comes in while it does."""
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > largest:
            raise TooLarge(largest)
        return message

    return counted
