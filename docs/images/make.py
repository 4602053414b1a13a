"""Take the pictures of the README: the report that `evenhand demo` makes, in light and in dark.

Run it with `make pictures`, which installs what it needs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from evenhand.cli.main import main

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZE = {"width": 1200, "height": 860}


def report(browser: Any, file: Path) -> None:
    """Take the top of the report in both themes."""
    for theme in ("light", "dark"):
        page = browser.new_page(viewport=SIZE, color_scheme=theme)
        page.goto(file.as_uri())
        page.screenshot(path=HERE / f"report-{theme}.png")
        page.close()


def make() -> None:
    """Run the demonstration and take its pictures."""
    found = os.environ.get("EVENHAND_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "report.html")
        main(["demo", "-o", str(file)])
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        report(browser, file)
        browser.close()


if __name__ == "__main__":
    make()
