"""Writes the Data Docs: pages of Great Expectations that can be read without a network, and their index.

As they come, the pages fetch styles, scripts, icons and a logo from seven hosts: without a network they show
no status, and their index nothing at all. So what is fetched is taken out, and a style sheet put in.
"""

import re
import shutil
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

from expectations.check import Report, build_site

INDEX = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
FETCHED = re.compile(r"<(script|style|footer|title)\b.*?</\1>|<(?:link|img)\b[^>]*>", re.DOTALL)


def write_docs(reports: Mapping[str, Report], folder: Path) -> Path:
    """Write the Data Docs of these tables, in this order, in place of those before; give their index page.

    They are written beside `folder` and then swapped in, so that it never holds half of them; one process at a time.
    """
    beside = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(beside, ignore_errors=True)  # left by a process that was killed
    beside.mkdir(parents=True)
    try:
        site = beside / "new"
        pages = build_site(reports.values(), site)
        shutil.rmtree(site / "static")
        for page in site.rglob("*.html"):
            page.write_text(_self_contained(page.read_text(encoding="utf-8"), page.stem), encoding="utf-8")
        (site / "index.html").write_text(_index(reports, pages), encoding="utf-8")
        if folder.exists():
            folder.rename(beside / "old")
        site.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder / "index.html"


def _self_contained(page: str, title: str) -> str:
    head = f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
    return FETCHED.sub("", page).replace("</head>", head, 1)


def _index(reports: Mapping[str, Report], pages: Mapping[str, Path]) -> str:
    kept = sum(report.passed for report in reports.values())
    lines = (_line(report, pages[report.table]) for report in reports.values())
    return INDEX.substitute(style=STYLE, kept=kept, tables=len(reports), lines="\n".join(lines))


def _line(report: Report, page: Path) -> str:
    status = "kept" if report.passed else "broken"
    failures = "".join(f'<p class="failure">{escape(failure)}</p>' for failure in report.failures)
    cells = [
        f'<span class="{status}" title="{status}"></span>',
        f'<a href="{escape(page.as_posix())}">{escape(report.table)}</a>',
        f"{report.rows:,}",
        escape(report.about) + failures,
        escape(report.checked_at.removesuffix("+00:00").replace("T", " ")),
    ]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
