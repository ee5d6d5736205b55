"""The page of the laboratory, opened from Python."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
import zlib

import pytest

import weirlab as w


def unpacked(address):
    """What the page reads from a link (web/src/share/link.ts)."""
    packed = address.split("#/lab?s=")[1]
    octets = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    return json.loads(zlib.decompress(octets, -zlib.MAX_WBITS))


def test_a_link_holds_the_scenario_with_its_settings(path):
    scenario = w.Scenario.load(path).set("run.seed", 7)
    address = w.link(scenario, "https://example.org/weir/#/lessons", title="ä </script>")
    assert address.startswith("https://example.org/weir/#/lab?s=")
    document = unpacked(address)
    assert document["v"] == 1 and document["n"] == "ä </script>"
    assert document["t"] == [path.read_text()]
    assert document["w"] == [[0, [["run.seed", "7"]]]]
    assert set(address.split("?s=")[1]) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


def test_an_address_that_is_no_page_is_refused(path):
    for page in ("javascript:alert(1)//", "results", ""):
        with pytest.raises(w.WeirError, match="expected the address of a page"):
            w.link(w.Scenario.load(path), page)


def test_a_server_is_started_once_for_a_folder(path, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    address = w.lab(path, folder=tmp_path)
    assert opened == [address]
    page = address.split("#")[0]
    with urllib.request.urlopen(page + "api/hello") as answer:
        assert json.load(answer)["folder"] == str(tmp_path.resolve())
    assert w.lab(folder=tmp_path, open=False) == page
    assert len(opened) == 1
    request = urllib.request.Request(page, headers={"Origin": "http://weir.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 403
