"""The code of the documentation works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "python").glob("*.md"))
WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    if "duckdb" in page.read_text():
        pytest.importorskip("duckdb")
    if "Optuna" in page.read_text():
        pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (scenario,) = re.findall(r"```toml title=\"path.toml\"\n(.*?)```", readme, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("path.toml").write_text(scenario)
    exec(compile(code, "README.md", "exec"), {})


FENCED = re.compile(r"^```(python|toml)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
ALL_PAGES = [*(Path(__file__).parents[2] / "docs").rglob("*.md")]
BLOCKS = [
    (page, language, block)
    for page in ALL_PAGES
    for language, block in FENCED.findall(page.read_text())
]


def test_every_block_of_python_and_toml_has_its_form():
    toml = pytest.importorskip("tomllib")
    for page, language, block in BLOCKS:
        if language == "python":
            compile(block, str(page), "exec")
        else:
            toml.loads(block)
    assert {language for _, language, _ in BLOCKS} == {"python", "toml"}


def test_there_are_pages():
    assert len(WITH_CODE) >= 3
