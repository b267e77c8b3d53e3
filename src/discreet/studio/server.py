"""The server of the studio: where it listens, and the address that opens it."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from discreet.errors import SchemaError, StoreError
from discreet.files import resolve

NEEDED = "pip install 'discreet[web]'"
USUAL_PORT = 80
"""The port that browsers do not name."""


def run_studio(folder: Path, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve the pages for a folder until told to stop; ``tell`` gets the address to open."""
    try:
        import starlette  # noqa: F401
        import tomlkit  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise SchemaError(
            f"The studio needs a library that is not installed ({error.name}).", hint=NEEDED
        ) from error
    from discreet.studio.site import build_site
    from discreet.studio.visits import Visits
    from discreet.studio.workers import Desk

    root = resolve(folder)
    if not root.is_dir():
        raise StoreError(f"{folder}: is no folder.", hint="Give the folder with your tables.")
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    desk = Desk()
    visits = Visits(root, desk)
    config = uvicorn.Config(
        build_site(visits, name_hosts(host, port)),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    shown = f"[{host}]" if ":" in host else host
    hung_up = getattr(signal, "SIGHUP", None)
    if hung_up is not None and signal.getsignal(hung_up) == signal.SIG_DFL:
        # a terminal that is closed ends it, unless nohup says otherwise; Ctrl-C may be ignored
        signal.signal(hung_up, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        with suppress(KeyboardInterrupt):  # being told to stop is how it ends
            tell(f"http://{shown}:{port}/?token={visits.token}")
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        visits.close()
        desk.close()


def name_hosts(host: str, port: int) -> frozenset[str]:
    """List the names by which a browser may call the studio; any other is somebody's trick.

    >>> sorted(name_hosts("127.0.0.1", 8000))
    ['127.0.0.1:8000', '[::1]:8000', 'localhost:8000']
    """
    host = host.lower()
    names = {f"[{host}]" if ":" in host else host}
    if _is_loopback(host):
        names |= {"127.0.0.1", "[::1]", "localhost"}
    called = {f"{name}:{port}" for name in names}
    return frozenset(called | names if port == USUAL_PORT else called)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host or "::", port, type=socket.SOCK_STREAM)
        family, kind, proto, _, address = found[0]
        if ipaddress.ip_address(str(address[0]).partition("%")[0]).is_unspecified:
            raise SchemaError(
                f"--host {host or repr('')}: by which name will browsers ask?",
                hint="Give the one address of this machine that they can reach.",
            )
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        raise SchemaError(
            f"Nobody can listen on {host}, port {port} ({error.strerror or error}).",
            hint="Give another port: --port 0 takes any that is free.",
        ) from error
    return listener
