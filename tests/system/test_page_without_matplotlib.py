"""A page of an audit has charts of its own: whoever writes it has no drawing library to load."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.evidence import audited
from tests.support.paths import ROOT

PROGRAM = """
import json
import sys

import evenhand as eh

page = eh.Audit.from_json(sys.argv[1]).to_html()
loaded = [name for name in sys.modules if name.partition(".")[0] in ("matplotlib", "PIL")]
print(json.dumps([loaded, page.count('<figure class="chart')]))
"""


def test_the_page_of_an_audit_loads_no_matplotlib(tmp_path):
    file = tmp_path / "audit.json"
    audited().to_json(file)
    command = [sys.executable, "-c", PROGRAM, str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    loaded, figures = json.loads(ran.stdout)
    assert loaded == []
    assert figures > 0
