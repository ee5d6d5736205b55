"""The documentation site is built without a warning, and loads nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")


def test_the_site_is_built(tmp_path):
    plan = Path(__file__).parents[1] / "mkdocs.yml"
    words = ["-m", "mkdocs", "build", "--strict", "-f", str(plan), "-d", str(tmp_path)]
    made = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= 15
    for page in pages:
        text = page.read_text()
        elements = re.findall("<(?:script|img|link|iframe)[^>]+>", text)
        loaded = [e for e in elements if re.search('(?:src|href)="?https?:', e)]
        assert loaded == [], page
    scenario = (tmp_path / "scenario.html").read_text()
    anchors = set(re.findall(r'id="?([^" >]+)', scenario))
    inner = set(re.findall(r'href="?#([^" >]+)', scenario))
    assert inner <= anchors and "linkqueue--droptail" in inner
    assert "Jain" in (tmp_path / "python" / "api.html").read_text()
