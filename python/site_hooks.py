"""The documentation site has no source files: links to them are replaced by their text."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Keeps only links to pages of the site and to other sites."""
    folder = posixpath.dirname(page.file.src_uri)

    def kept(link: re.Match[str]) -> str:
        words, target = link.group(1), link.group(2)
        if "://" in target:
            return link.group(0)
        place = posixpath.normpath(posixpath.join(folder, target))
        return words if place.startswith("..") else link.group(0)

    return _LINK.sub(kept, markdown)
