"""The documentation site is built without a warning, and loads nothing from the network."""

from __future__ import annotations

import json
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
    lessons = list((tmp_path / "lessons").glob("0*.html"))
    assert len(lessons) == 8
    for lesson in lessons:
        text = lesson.read_text()
        assert text.count("Question.") == 2 and "<details" in text and "+++" not in text
    # A page that is opened from a file may load scripts and no documents.
    script = (tmp_path / "assets" / "search.js").read_text()
    assert "fetch(" not in script and "XMLHttpRequest" not in script
    index = (tmp_path / "assets" / "search-index.js").read_text()
    sections = json.loads(index.removeprefix("window.weirSections = ").rstrip().removesuffix(";"))
    found = [s for s in sections if s["heading"] == "link.queue = codel"]
    assert [s["url"] for s in found] == ["scenario.html#linkqueue--codel"]
    assert "standing delay" in found[0]["text"]
    assert all((tmp_path / s["url"].split("#")[0]).is_file() for s in sections)
