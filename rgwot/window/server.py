"""The server of `rgwot open`, from the socket to the browser."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from rgwot.runtime.errors import RgwotError
from rgwot.window.app import application
from rgwot.window.beginning import study_or_proposal
from rgwot.window.guard import Guard, Keys
from rgwot.window.session import ALONE_S, Session

#: Largest number of connections, of which a browser has six per window; further ones are told that the server is busy.
MOST_CONNECTIONS = 64
#: If no port is given, these are tried one after the other.
PORTS = range(8765, 8785)


def serve(folder: Path, host: str, port: int | None, browser: bool, say: Callable[[str], None]) -> None:
    """Open a study, or a folder of videos, until Ctrl-C, or until the last window has been closed for a while.

    A run that is at work then goes on to its end, and the server with it.

    Parameters
    ----------
    folder
        The study, or the folder of videos.
    host, port
        Where to listen; without a port, the first free one of `PORTS`.
    browser
        Whether to open a browser.
    say
        Called with every line for the person at the terminal.

    Raises
    ------
    RgwotError
        If the folder is neither a study nor a folder of videos, or the port is taken.
    """
    opened = study_or_proposal(folder)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    keys, session = Keys(port), Session(opened)
    shown = host if host not in ("0.0.0.0", "::") else socket.gethostname()
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token="
    say(f"Open in a browser on this machine: {address}{keys.token}")
    if host in ("127.0.0.1", "localhost", "::1"):
        say(f"From another machine, first: ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}")
    else:
        say("Anybody on the network can read what you do here, and the token: this is plain HTTP.")
    say(f"Ctrl-C ends the server, and so does closing its last window, {ALONE_S:.0f} s later or after the run at work.")
    server = uvicorn.Server(
        uvicorn.Config(
            Guard(application(session), keys, host),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=32_768,
        )
    )

    # Uvicorn logs a traceback for each request that the end of the server cuts off.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)

    threading.Thread(target=_watch, args=(session, server, say), daemon=True, name="windows").start()
    if browser:
        threading.Thread(target=_browse, args=(f"{address}{keys.once}", server), daemon=True, name="browser").start()
    # Uvicorn raises the signal that ended it once more; SIGTERM would then end the process at once, but not its run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        session.close()


def _watch(session: Session, server: uvicorn.Server, say: Callable[[str], None], every_s: float = 1.0) -> None:
    """End a server whose windows were all closed, after the run at work; look every ``every_s`` seconds."""
    waits = False
    while not server.should_exit:
        time.sleep(every_s)
        if not session.alone():
            waits = False
        elif not session.at_work():
            say("The last window was closed, so the server ends.")
            server.should_exit = True
        elif not waits:
            waits = True
            say("The last window was closed. The server ends after the run at work; Ctrl-C ends both at once.")


def _browse(address: str, server: uvicorn.Server) -> None:
    while not server.started and not server.should_exit:
        time.sleep(0.05)
    webbrowser.open(address)


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; raise RgwotError if the port is taken or the host is not one of this machine."""
    ports = PORTS if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in ports:
        listening = socket.socket(family, socket.SOCK_STREAM)
        # Allows using the port again immediately after a server has ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(MOST_CONNECTIONS)
            listening.set_inheritable(False)
            return listening
        except OSError as error:
            listening.close()
            if number == ports[-1]:
                raise RgwotError(
                    f"{host}:{number}: cannot listen there ({error.strerror}); give another --port, or close the other "
                    "rgwot open"
                ) from None
    raise AssertionError("PORTS is empty; expected at least one port")
