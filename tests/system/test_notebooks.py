"""evenhand in real notebooks: a kernel of Jupyter, and marimo where it is installed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import pytest

import evenhand as eh

CODE = """
import time
import evenhand as eh
from evenhand.runtime import progress
progress.PATIENCE = 0.05
progress.PAUSE = 0.0
space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], ["sex"])

def slow(people):
    time.sleep(0.03)
    return people["age"] > 40

eh.search(slow, space, over="sex", budget=eh.Budget(queries=4000));
"""

COUNTED = """
pictures = []
draw = progress.MarimoScreen.draw

def counting(screen, tasks):
    pictures.append(len(tasks))
    draw(screen, tasks)

progress.MarimoScreen.draw = counting
eh.search(slow, space, over="sex", budget=eh.Budget(queries=4000));
print(f"drawn: {bool(pictures)}")
"""


def outputs_of(*sources: str) -> list[list[Any]]:
    """Run cells in a kernel, and return the outputs of each."""
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run with nbclient")
    nbformat = pytest.importorskip("nbformat", reason="notebooks are written with nbformat")
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def html_of(outputs: list[Any]) -> list[str]:
    """Return what outputs show in HTML."""
    shown = []
    for output in outputs:
        if "data" in output:
            shown.append(output["data"])
    return [data["text/html"] for data in shown if "text/html" in data]


def test_jupyter_shows_objects_and_takes_progress_away_in_the_end():
    running, space, case, finding, drawing = outputs_of(
        CODE,
        "space",
        "found = eh.measure(lambda people: people.sex == 'F', space, limit=0.05)\n"
        "found.worst.cases[0]",
        "found.worst",
        "%matplotlib inline\nfound.plot()",
    )
    # What was drawn in place is empty in the end, and nothing went to standard error.
    assert html_of(running) == [""]
    assert all("text" not in output for output in running)
    assert "<caption" in html_of(space)[0]
    assert "individual" in html_of(case)[0]
    assert "fail" in html_of(finding)[0]
    pictures = [output for output in drawing if "image/png" in output.get("data", {})]
    assert len(pictures) == 1
    assert all("<img" not in html for html in html_of(drawing))


def test_the_formatter_of_ipython_takes_the_html_form():
    reason = "notebooks need IPython"
    formatters = pytest.importorskip("IPython.core.formatters", reason=reason)
    space = eh.Space([eh.category("sex", ["F", "M"])])
    data, _ = formatters.DisplayFormatter().format(space)
    assert data["text/html"] == space._repr_html_()


def test_marimo_runs_a_notebook_with_progress(tmp_path):
    pytest.importorskip("marimo", reason="notebooks of marimo need marimo")
    body = textwrap.indent(f"{CODE}\n{COUNTED}", "    ")
    file = tmp_path / "book.py"
    lines = ("import marimo", "app = marimo.App()", "@app.cell", "def _():", "")
    end = "    space\n    return\n\nif __name__ == '__main__':\n    app.run()\n"
    file.write_text("\n".join(lines) + body + end)
    page = tmp_path / "book.html"
    words = ["-m", "marimo", "export", "html", str(file), "-o", str(page), "--no-sandbox"]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "space of 2 features" in text
    assert "drawn: True" in text
    assert "Traceback" not in text
