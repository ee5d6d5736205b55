"""The page of the laboratory in a browser, with a scenario."""

from __future__ import annotations

import atexit
import base64
import json
import os
import subprocess
import sys
import webbrowser
import zlib
from pathlib import Path
from urllib.parse import urlsplit

from weirlab.errors import WeirError
from weirlab.scenario import Scenario

#: The version of links that the page reads.
LINK_FORMAT = 1
#: The servers of this process, by their folders.
_servers: dict[Path, tuple[subprocess.Popen[str], str]] = {}


def link(scenario: Scenario | str, page: str, *, title: str = "Scenario") -> str:
    """The address of a page that runs a scenario; the scenario is in the address itself.

    ``page`` is the address of a running ``weir lab``, or of a site that ``weir lab --static`` has
    written.
    """
    if urlsplit(page).scheme not in ("http", "https", "file"):
        raise WeirError(f"expected the address of a page, such as http://127.0.0.1:7000/, found {page!r}")
    text, sets = (scenario, []) if isinstance(scenario, str) else scenario.text_and_settings()
    variant = [0, [list(setting) for setting in sets]]
    document = {"v": LINK_FORMAT, "n": title, "t": [text], "w": [variant], "m": "beside"}
    octets = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = base64.urlsafe_b64encode(packer.compress(octets) + packer.flush())
    return f"{page.split('#')[0]}#/lab?s={packed.decode().rstrip('=')}"


def lab(
    scenario: Scenario | str | os.PathLike[str] | None = None,
    *,
    page: str | None = None,
    folder: str | os.PathLike[str] = ".",
    open: bool = True,
) -> str:
    """Opens the page of the laboratory with a scenario, and returns its address.

    Without ``page`` a ``weir lab`` with the runs of ``folder`` is started on loopback, once for
    each folder, and ends with this process.

        w.lab(w.Scenario.load("path.toml"))
        w.lab("path.toml", page="https://example.org/weir/")
    """
    title = "Scenario"
    if scenario is not None and not isinstance(scenario, Scenario):
        title = os.fspath(scenario)
        scenario = Scenario.load(scenario)
    address = page or _server(Path(folder).resolve())
    if scenario is not None:
        address = link(scenario, address, title=title)
    if open:
        webbrowser.open(address)
    return address


def _server(folder: Path) -> str:
    """The address of the server of a folder, which is started if there is none."""
    known = _servers.get(folder)
    if known and known[0].poll() is None:
        return known[1]
    words = [sys.executable, "-m", "weirlab._command", "lab", "--no-open", "--", str(folder)]
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().strip() if server.stdout else ""
    if not address.startswith("http://"):
        server.wait()
        raise WeirError(f"weir lab has not started for {folder}")
    _servers[folder] = (server, address)
    return address


@atexit.register
def _end() -> None:
    for server, _ in _servers.values():
        server.terminate()
    for server, _ in _servers.values():
        server.wait()
    _servers.clear()
