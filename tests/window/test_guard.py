"""Access control of the server: requests as a browser, another page or another program would send them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from rgwot.window.guard import HEADERS, MOST_BYTES, Guard, Keys

PORT = 8765
HOST = f"127.0.0.1:{PORT}"


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body())


def guarded(host: str = "127.0.0.1") -> tuple[Guard, Keys]:
    keys = Keys(PORT)
    routes = [Route("/{path:path}", echo, methods=["GET", "PUT", "POST"])]
    return Guard(Starlette(routes=routes), keys, host), keys


def ask(
    guard: Guard, path: str = "/api/state", method: str = "GET", body: bytes = b"", chunks: int = 1, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Send a request without a socket; return status, headers and body. ``headers`` have underscores for hyphens."""
    given = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    where, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": where, "raw_path": where.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()], "http_version": "1.1",
        "scheme": "http", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 50000), "root_path": "",
    }  # fmt: skip
    parts = [body] * chunks
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        said.append(dict(message))

    # In its own thread, because the browser of another test may have an event loop in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(guard(scope, receive, send))).result()
    answer = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], answer, b"".join(part.get("body", b"") for part in said[1:])


def known(keys: Keys) -> Mapping[str, str]:
    return {"cookie": f"{keys.cookie}={keys.secret}"}


CHANGE = {"origin": f"http://{HOST}", "content_type": "application/json"}


def test_the_token_is_exchanged_for_a_cookie_that_opens_the_rest() -> None:
    guard, keys = guarded()
    status, headers, body = ask(guard, f"/?token={keys.token}")
    assert status == 200
    cookie = headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    # The next address has no token, and the cookie is not the token.
    assert keys.token.encode() not in body
    assert keys.token not in cookie
    assert b"url=/" in body
    assert ask(guard, cookie=cookie.partition(";")[0])[0] == 200


def test_every_answer_has_the_headers() -> None:
    guard, keys = guarded()
    for found in (ask(guard), ask(guard, **known(keys)), ask(guard, f"/?token={keys.token}"), ask(guard, host="x")):
        assert HEADERS.items() <= found[1].items()


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "rgwot-8765=",
        "rgwot-8765=wrong",
        "rgwot-8764=SECRET",
        "rgwot-8765=SECRETx",
        'rgwot-8765="; SECRET',
        "\x00=1",
    ],
)
def test_without_the_cookie_of_this_run_nothing_is_answered(cookie: str) -> None:
    guard, keys = guarded()
    status, _, body = ask(guard, cookie=cookie.replace("SECRET", keys.secret))
    assert status == 403
    assert body.count(b"\n") == 1


@pytest.mark.parametrize("token", ["", "wrong", "é", "%00"])
def test_a_missing_or_old_token_opens_nothing(token: str) -> None:
    guard, _ = guarded()
    old = Keys(PORT).token
    for given in (token, old):
        status, headers, _ = ask(guard, f"/?token={given}")
        assert status == 403
        assert "set-cookie" not in headers


def test_the_token_in_the_list_of_processes_opens_once() -> None:
    guard, keys = guarded()
    seen = keys.once
    assert seen not in (keys.token, keys.secret, "")
    assert ask(guard, f"/?token={seen}")[0] == 200
    for token in (seen, ""):
        assert ask(guard, f"/?token={token}")[0] == 403
    assert ask(guard, f"/?token={keys.token}")[0] == 200


def test_a_cookie_that_another_port_set_beside_the_own_one_opens_nothing() -> None:
    guard, keys = guarded()
    assert ask(guard, cookie=f"{keys.cookie}=theirs; {keys.cookie}={keys.secret}")[0] == 200
    assert ask(guard, cookie=f"{keys.cookie}={keys.secret}; {keys.cookie}=theirs")[0] == 403


def test_a_token_opens_only_the_first_page() -> None:
    guard, keys = guarded()
    assert ask(guard, f"/api/state?token={keys.token}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "[::1", "a:b:c"])
def test_a_wrong_host_is_refused_even_with_the_cookie(host: str) -> None:
    guard, keys = guarded()
    assert ask(guard, host=host, **known(keys))[0] == 421


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:1234", "[::1]:8765", "LOCALHOST"])
def test_names_of_the_loopback_are_own_whatever_the_port_of_a_tunnel(host: str) -> None:
    guard, keys = guarded()
    assert ask(guard, host=host, **known(keys))[0] == 200


def test_an_address_in_numbers_is_own_only_if_a_person_gave_a_host() -> None:
    for host, status in (("127.0.0.1", 421), ("0.0.0.0", 200)):
        guard, keys = guarded(host)
        assert ask(guard, host="192.168.1.7:8765", **known(keys))[0] == status
        assert ask(guard, host="evil.example", **known(keys))[0] == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", f"https://{HOST}", "http://localhost:8765", ""]
)
def test_a_page_of_another_origin_changes_and_reads_nothing(origin: str) -> None:
    guard, keys = guarded()
    more = {**CHANGE, "origin": origin, **known(keys)}
    assert ask(guard, "/api/run", "POST", b"{}", **more)[0] == 403
    assert ask(guard, origin=origin, **known(keys))[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_calls_another_site_gets_only_the_first_page(site: str) -> None:
    guard, keys = guarded()
    assert ask(guard, sec_fetch_site=site, **known(keys))[0] == 403
    # A link in an e-mail may open the window.
    assert ask(guard, f"/?token={keys.token}", sec_fetch_site=site)[0] == 200


def test_a_change_comes_from_a_page_and_is_json() -> None:
    guard, keys = guarded()
    assert ask(guard, "/x", "POST", b"{}", **CHANGE, **known(keys))[0] == 200
    assert ask(guard, "/x", "POST", b"{}", content_type="application/json", **known(keys))[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert ask(guard, "/x", "POST", b"{}", **{**CHANGE, "content_type": kind}, **known(keys))[0] == 415
    for method in ("DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert ask(guard, "/x", method, **CHANGE, **known(keys))[0] == 405


def test_a_large_body_is_refused_before_it_is_read() -> None:
    guard, keys = guarded()
    told = {**CHANGE, **known(keys), "content_length": str(10**9)}
    assert ask(guard, "/x", "PUT", b"", **told)[0] == 413
    for length in ("-1", "1e9", "x", "9" * 5000):
        assert ask(guard, "/x", "PUT", b"", **{**told, "content_length": length})[0] == 413
    # The body comes in chunks, without a Content-Length.
    assert ask(guard, "/x", "PUT", b"x" * 2**20, chunks=MOST_BYTES // 2**20 + 1, **CHANGE, **known(keys))[0] == 413
    status, _, body = ask(guard, "/x", "PUT", b"x" * 2**20, chunks=MOST_BYTES // 2**20, **CHANGE, **known(keys))
    assert (status, len(body)) == (200, MOST_BYTES)


def test_the_body_of_a_stranger_is_not_read() -> None:
    guard, _ = guarded()
    # Without a chunk to receive, reading would fail.
    assert ask(guard, "/x", "PUT", chunks=0, **CHANGE)[0] == 403
