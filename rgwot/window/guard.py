"""Access to the server, only for the browser that got the address with the token, and only for the server's pages.

Any program and any web page on the machine can reach a port of 127.0.0.1. The token in the address is exchanged for a
cookie that no script reads and no other site sends (HttpOnly, SameSite=Strict). Ports of one machine are one site for
a browser, so a request that changes something also has to come from a page of this server (Origin), and the name in
the address has to be one of this machine (Host), because a foreign name could lead to 127.0.0.1 (DNS rebinding).
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Largest body of a request in bytes; the names of a thousand videos are smaller.
MOST_BYTES = 4 * 2**20
#: Headers of every answer. The policy of what a page may load is in the page itself.
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_GO_ON = (
    b'<!DOCTYPE html><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/"><title>rgwot</title>'
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Keys:
    """The secrets of one run of the server; secrets of earlier runs are not accepted.

    Attributes
    ----------
    token
        The end of the printed address.
    once
        The end of the address with which a browser is started. It opens the window only once, because everybody on the
        machine can see it in the list of processes.
    cookie, secret
        Name and value of the cookie. The name has the port, because ports share cookies.
    """

    def __init__(self, port: int) -> None:
        self.token, self.once, self.secret = (secrets.token_urlsafe(32) for _ in range(3))
        self.cookie = f"rgwot-{port}"

    def opens(self, token: str) -> bool:
        """Return whether this is the token of the address or the one that opens once, compared in constant time."""
        if self.once and hmac.compare_digest(token.encode(), self.once.encode()):
            self.once = ""
            return True
        return hmac.compare_digest(token.encode(), self.token.encode())

    def known(self, cookies: str) -> bool:
        """Return whether a Cookie header has the secret."""
        try:
            own = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return own is not None and hmac.compare_digest(own.value.encode(), self.secret.encode())

    def set_cookie(self) -> str:
        """Return the Set-Cookie header."""
        return f"{self.cookie}={self.secret}; HttpOnly; SameSite=Strict; Path=/"


def names_of_host(host: str) -> frozenset[str] | None:
    """Return the names by which a server on ``host`` may be addressed, apart from numeric addresses.

    A server on the loopback has the names of the loopback. Other servers also have the names of the machine.
    """
    if host in _LOOPBACK:
        return frozenset(_LOOPBACK)
    return frozenset((*_LOOPBACK, host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()))


def is_own_host(header: str, names: frozenset[str], numeric: bool) -> bool:
    """Return whether a Host header names this machine.

    If ``numeric``, every numeric address is accepted, because no name server can redirect it.
    The port may differ, because a tunnel may have another port at the browser's end.
    """
    try:
        name = urlsplit(f"//{header}").hostname or ""
        _ = urlsplit(f"//{header}").port
    except ValueError:
        return False
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return numeric


class Guard:
    """The outermost layer of the application: it refuses requests that must not go further, and adds `HEADERS`.

    ``/`` with the right token sets the cookie; everything else needs it. Bodies are read here, up to `MOST_BYTES`.
    """

    def __init__(self, app: ASGIApp, keys: Keys, host: str) -> None:
        self._app, self._keys = app, keys
        self._names, self._numeric = names_of_host(host) or frozenset(), host not in _LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self._refusal(scope, headers):
            await _say(send, *refusal)
            return
        if scope["path"] == "/" and (token := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            await self._welcome(send, token[0])
            return
        if not self._keys.known(headers.get("cookie", "")):
            await _say(send, 403, "this window is not known here; open the address that rgwot open printed last")
            return
        body = await _body(receive, headers)
        if body is None:
            await _say(send, 413, f"a request may have {MOST_BYTES} bytes", close=True)
            return
        await self._app(scope, _again(body, receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site", "none")
        if not is_own_host(host, self._names, self._numeric):
            return 421, "this name does not belong to the server; open the address that rgwot open printed"
        if scope["method"] not in ("GET", "HEAD", "PUT", "POST"):
            return 405, "the server knows GET, PUT and POST"
        if origin is not None and origin != f"http://{host}":
            return 403, "a page of another origin may not use this server"
        if site not in ("none", "same-origin") and scope["path"] != "/":
            return 403, "a page of another site may not use this server"
        if scope["method"] in ("PUT", "POST"):
            if origin is None:
                return 403, "a change has to come from a page of this server"
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "a PUT or POST request needs the header Content-Type: application/json"
        return None

    async def _welcome(self, send: Send, token: str) -> None:
        """Exchange the token for the cookie, and open the page at an address without the token.

        The page opens the next address itself, without a redirection: after a click on another site, a browser would
        not send the new cookie with a redirected request.
        """
        if not self._keys.opens(token):
            await _say(send, 403, "this token is not valid (any more); open the address that rgwot open printed last")
            return
        await _answer(send, 200, "text/html; charset=utf-8", _GO_ON, {"set-cookie": self._keys.set_cookie()})


async def _body(receive: Receive, headers: Mapping[str, str]) -> bytes | None:
    """Return the body of a request, or None if it is too large; then it is not read to its end."""
    told = headers.get("content-length", "0")
    # int raises an error for numbers of thousands of digits.
    if not told.isdecimal() or len(told) > len(str(MOST_BYTES)) or int(told) > MOST_BYTES:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a function that first returns the body, which was read already, and then further messages."""
    told = False

    async def first() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return first


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_encoded(HEADERS)]
        await send(message)

    return sent


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def _say(send: Send, status: int, text: str, close: bool = False) -> None:
    await _answer(
        send, status, "text/plain; charset=utf-8", f"rgwot: {text}\n".encode(), {"connection": "close"} if close else {}
    )


async def _answer(send: Send, status: int, kind: str, body: bytes, more: Mapping[str, str]) -> None:
    headers = {**HEADERS, "content-type": kind, "content-length": str(len(body)), **more}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
