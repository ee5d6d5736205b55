"""The documentation site: README and pages of other folders are pages of it, and links to what has
none are replaced by their text."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s#]+)(#[^)\s]*)?\)")

# Pages that stand outside of docs/: their place in the repository, and in the site.
_OTHERS = {
    "README.md": "index.md",
    "examples/README.md": "examples.md",
    "experiments/README.md": "experiments.md",
    "CHANGELOG.md": "changes.md",
}
_PLACES = {page: place for place, page in _OTHERS.items()}


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Adds the pages that stand outside of docs/."""
    repository = Path(config.config_file_path).parents[1]
    for place, page in _OTHERS.items():
        content = (repository / place).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    """Keeps only links to pages and pictures of the site, and to other sites."""
    here = page.file.src_uri
    folder = posixpath.dirname(_PLACES.get(here, posixpath.join("docs", here)))

    def kept(link: re.Match[str]) -> str:
        words, target, anchor = link.group(1), link.group(2), link.group(3) or ""
        if "://" in target:
            return link.group(0)
        place = posixpath.normpath(posixpath.join(folder, target))
        inside = _OTHERS.get(place, place.removeprefix("docs/"))
        if files.get_file_from_path(inside) is None:
            return words
        nearby = posixpath.relpath(inside, posixpath.dirname(here) or ".")
        return f"[{words}]({nearby}{anchor})"

    return _LINK.sub(kept, markdown)
