"""The documentation site: README, lessons and pages of other folders are pages of it, links to what
has none are replaced by their text, and a search works without a server.

`site_files/` has the script and the style of the site. The search reads `assets/search-index.js`, a
script and not a document, because a page opened from a file may load no document.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_BLOCK = re.compile(r"^```(figure|question)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)

# Pages that stand outside of docs/: their place in the repository, and in the site.
_OTHERS = {
    "README.md": "index.md",
    "examples/README.md": "examples.md",
    "experiments/README.md": "experiments.md",
    "web/lessons/README.md": "lessons/form.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
#: Files of the site, made from those of `site_files/`.
_ASSETS = ("search.js", "style.css")

_sections: list[dict[str, str]] = []


def _repository(config: Any) -> Path:
    return Path(config.config_file_path).parents[1]


def _others(repository: Path) -> dict[str, str]:
    """All pages from outside of docs/, by their place in the repository."""
    lessons = sorted((repository / "web" / "lessons").glob("[0-9]*.md"))
    experiments = sorted((repository / "experiments").glob("*/README.md"))
    return (
        _OTHERS
        | {f"web/lessons/{page.name}": f"lessons/{page.name}" for page in lessons}
        | {
            f"experiments/{page.parent.name}/README.md": f"experiments/{page.parent.name}.md"
            for page in experiments
        }
    )


def on_config(config: Any) -> Any:
    """Names the lessons and the experiments in the navigation."""
    repository = _repository(config)
    lessons = [page for page in _others(repository).values() if page.startswith("lessons/0")]
    experiments = [page for page in _others(repository).values() if page.startswith("experiments/")]
    for part in config.nav:
        if "Lessons" in part:
            part["Lessons"] = ["lessons/index.md", *lessons]
        if "Evidence" in part:
            part["Evidence"] = [*part["Evidence"], {"Experiments": experiments}]
    _sections.clear()
    return config


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Adds the pages that stand outside of docs/, and the search."""
    repository = _repository(config)
    about: list[str] = []
    for place, page in _others(repository).items():
        content = (repository / place).read_text(encoding="utf-8")
        if page.startswith("lessons/0"):
            front, content = _lesson(content, posixpath.basename(page).removesuffix(".md"))
            link = f"[{front['title']}]({posixpath.basename(page)})"
            about.append(f"{len(about) + 1}. {link}: {front['about']}")
        files.append(File.generated(config, page, content=content))
    index = "# Lessons\n\n" + _ABOUT_LESSONS + "\n" + "\n".join(about) + "\n"
    files.append(File.generated(config, "lessons/index.md", content=index))
    for name in _ASSETS:
        content = (Path(__file__).parent / "site_files" / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"assets/{name}", content=content))
    return files


_ABOUT_LESSONS = """Eight lessons for a class. Each has a scenario that runs in a fraction of a second, and two questions. Every
number of their text is measured by a test. The page of the laboratory has the same lessons with figures that answer while one moves
a slider; here the figures stand still. [How a lesson is written](form.md).
"""


def _lesson(text: str, name: str) -> tuple[dict[str, Any], str]:
    """The front matter of a lesson, and its page."""
    _, front_text, body = text.split("+++\n", 2)
    front: dict[str, Any] = tomllib.loads(front_text)

    def shown(block: re.Match[str]) -> str:
        if block.group(1) == "question":
            question, answer = block.group(2).split("\nanswer:\n", 1)
            answer = "\n".join(f"    {line}" for line in answer.strip().splitlines())
            asked = " ".join(question.split())
            return f"**Question.** {asked}\n\n??? success \"Answer\"\n{answer}\n"
        figure = tomllib.loads(block.group(2))
        rows = [
            f"| {slider['label']} | `{slider['key']}` | {_values(slider)} |"
            for slider in figure["slider"]
        ]
        file, example = figure["scenario"], _example(figure["slider"][0])
        return "\n".join(
            [
                f"![The figure of the scenario {file}](../pictures/lessons/{name}.svg)\n",
                "| what to change | setting | values |\n|---|---|---|",
                *rows,
                f"\n```sh\nweir run web/lessons/{file} --set {example}\n```\n",
            ]
        )

    reading = [f"- [{one['title']}]({one['url']})" for one in front["reading"]]
    page = _BLOCK.sub(shown, body)
    return front, f"# {front['title']}\n\n{page}\n## Read next\n" + "\n".join(reading) + "\n"


def _example(slider: dict[str, Any]) -> str:
    """A setting of a slider: its last choice, or its largest value."""
    largest = f"{slider.get('max')}{slider.get('unit', '')}"
    return f"{slider['key']}={slider.get('choices', [largest])[-1]}"


def _values(slider: dict[str, Any]) -> str:
    if "choices" in slider:
        return ", ".join(f"`{value}`" for value in slider["choices"])
    unit = slider.get("unit", "")
    shows = f" {slider['shows']}" if "shows" in slider else ""
    return f"`{slider['min']}{unit}` to `{slider['max']}{unit}`{shows}"


def on_page_markdown(markdown: str, *, page: Any, files: Files, config: Any, **_: Any) -> str:
    """Keeps only links to pages and pictures of the site, and to other sites."""
    others = _others(_repository(config))
    places = {shown: place for place, shown in others.items()}
    here = page.file.src_uri
    folder = posixpath.dirname(places.get(here, posixpath.join("docs", here)))

    def kept(link: re.Match[str]) -> str:
        words, target, anchor = link.group(1), link.group(2), link.group(3) or ""
        if "://" in target or files.get_file_from_path(_beside(here, target)) is not None:
            return link.group(0)
        place = posixpath.normpath(posixpath.join(folder, target))
        inside = others.get(place, place.removeprefix("docs/"))
        if files.get_file_from_path(inside) is None:
            return words
        nearby = posixpath.relpath(inside, posixpath.dirname(here) or ".")
        return f"[{words}]({nearby}{anchor})"

    return _LINK.sub(kept, markdown)


def _beside(here: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(here), target))


class _Sections(HTMLParser):
    """The sections of a page: heading, anchor, text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = [{"anchor": "", "heading": "", "text": ""}]
        self._in_heading = False
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "svg"):
            self._skipped += 1
        if tag in ("h1", "h2", "h3", "h4"):
            self._in_heading = True
            anchor = dict(attrs).get("id") or ""
            self.found.append({"anchor": anchor, "heading": "", "text": ""})
        elif tag in ("p", "td", "th", "li", "br", "div", "pre"):
            self.found[-1]["text"] += " "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "svg"):
            self._skipped -= 1
        if tag in ("h1", "h2", "h3", "h4"):
            self._in_heading = False

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.found[-1]["heading" if self._in_heading else "text"] += data


def on_page_content(content: str, *, page: Any, **_: Any) -> str:
    """Remembers the sections of a page for the search."""
    sections = _Sections()
    sections.feed(content)
    for section in sections.found:
        heading = section["heading"].replace("¶", "").strip()
        text = " ".join(section["text"].split())
        if heading or text:
            url = page.file.url + (f"#{section['anchor']}" if section["anchor"] else "")
            title = html.unescape(str(page.title))
            _sections.append({"url": url, "title": title, "heading": heading, "text": text})
    return content


def on_post_build(*, config: Any, **_: Any) -> None:
    """Writes what the search reads."""
    written = json.dumps(_sections, ensure_ascii=False, separators=(",", ":"))
    place = Path(config.site_dir) / "assets" / "search-index.js"
    place.write_text(f"window.weirSections = {written};\n", encoding="utf-8")
