"""A real browser for pages: what they log, what they ask the network for, and what axe-core says of
them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Tab:
    """A page of the browser, with everything that it complained of and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def serious(self) -> list[str]:
        """Return the accessibility faults that axe-core calls serious or critical."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html'][:300]}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium, or skip the test with the reason why there is none."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, which `make test-all` installs"
    )
    pytest.importorskip(
        "axe_playwright_python", reason="needs axe-core, which `make test-all` installs"
    )
    here = os.environ.get("EVENHAND_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    with driver.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=here, args=ARGUMENTS)
        except driver.Error as error:
            pytest.skip(
                f"needs Chromium, on the path or in EVENHAND_CHROMIUM: {str(error).splitlines()[0]}"
            )
        yield browser
        browser.close()


@contextmanager
def tab(browser: Any, **options: Any) -> Iterator[Tab]:
    """Open a page; options are those of a browser context, such as `java_script_enabled` and
    `color_scheme`.
    """
    context = browser.new_context(**options)
    opened = Tab(context.new_page())
    opened.page.on(
        "console",
        lambda message: (
            opened.complaints.append(message.text) if message.type == "error" else None
        ),
    )
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("request", lambda asked: opened.requests.append(asked.url))
    yield opened
    context.close()
