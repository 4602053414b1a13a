"""The what-if page without a browser: what it answers, whom it answers, and what it writes down."""

from __future__ import annotations

import argparse
import base64
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.demo import PROGRAM, loan_space, loan_subject
from evenhand.explore.given_cases import cases_of
from evenhand.explore.server import MOST_BYTES
from evenhand.explore.session import SavedPairs, Session, explore, server_on
from evenhand.explore.tabular import TabularExplorer, spread
from evenhand.explore.texts import TextExplorer
from evenhand.report.page.explore_link import explore_link
from evenhand.results.case_id import case_id
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import TERMS, examples, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        category("house", ["no", "yes"]),
        real("rate", 0, 1),
    ],
    protected=["sex"],
    constraints=["not (age < 21 and house == 'yes')"],
)
ANN = {"sex": "F", "age": 30, "house": "no", "rate": 0.5}
TAG = "<script>alert(1)</script>"
HOSTILE = [
    "'\"`&<b>",
    "one\ntwo\r\x00\u2028",
    "\u202eevil\u202c עברית",
    "x" * 10_000,
    "</script>",
    "__proto__",
    "",
]


class Visitor:
    """Sends requests to a page, as a browser that has its address would."""

    def __init__(self, url: str) -> None:
        self.url, parts = url, urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def send(
        self, method: str, name: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any, Any]:
        connection = http.client.HTTPConnection(self.host, timeout=20)
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        path = name if name.startswith("/") else self.path + name
        connection.request(method, path, body, {"Host": self.host, **given})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, answer.headers

    def get(self, name: str) -> Any:
        status, content, _ = self.send("GET", name)
        assert status == 200, content
        return json.loads(content)

    def post(self, name: str, table: Any, want: int = 200) -> Any:
        body = json.dumps(table).encode()
        status, content, _ = self.send(
            "POST",
            name,
            body,
            Content_Type="application/json",
            Origin=f"http://{self.host}",
        )
        assert status == want, content
        return json.loads(content)


def sentence(answer: Any, *words: str) -> None:
    message = answer["error"]
    assert "\n" not in message
    assert len(message) < 900
    for word in words:
        assert word in message, message


@contextmanager
def visiting(
    explorer: TabularExplorer | TextExplorer, save: Path, given: Any = ()
) -> Iterator[Visitor]:
    session = Session(
        explorer,
        SavedPairs(save, explorer.job, explorer.table),
        given,
        title="evenhand.toml",
    )
    server = session.server()
    with server.listening():
        worker = threading.Thread(target=server.work)
        worker.start()
        try:
            yield Visitor(server.url)
        finally:
            server.stop()
            worker.join()


def loan(people):
    return np.where(
        (people["age"] > 40) | ((people["sex"] == "M") & (people["age"] > 20)), "yes", "no"
    )


@pytest.fixture
def page(tmp_path):
    with visiting(
        TabularExplorer(Subject(loan, SPACE, positive="yes")), tmp_path / "explored.json"
    ) as visitor:
        yield visitor


def test_the_outcome_of_an_individual_and_of_its_twin(page):
    answer = page.post("decide", {"individual": ANN})
    assert answer["individual"] == ANN
    assert answer["outcomes"] == [
        {"output": "", "value": "no", "favourable": False, "differs": False}
    ]
    (twin,) = answer["twins"]
    assert twin["individual"] == {**ANN, "sex": "M"}
    assert twin["changed"] == ["sex"]
    assert twin["differs"] is True
    assert twin["outcomes"] == [
        {"output": "", "value": "yes", "favourable": True, "differs": True}
    ]
    older = page.post("decide", {"individual": {**ANN, "age": 50}})
    assert [twin["differs"] for twin in older["twins"]] == [False]


def test_the_page_learns_what_an_input_can_be(page):
    page_data = page.get("space")
    assert [feature["name"] for feature in page_data["features"]] == [
        "sex",
        "age",
        "house",
        "rate",
    ]
    assert [feature["protected"] for feature in page_data["features"]] == [
        True,
        False,
        False,
        False,
    ]
    assert (
        page_data["features"][1] | {"kind": "integer", "low": 18, "high": 90, "step": 1}
        == page_data["features"][1]
    )
    assert page_data["features"][3]["step"] is None
    assert page_data["constraints"] == ["not (age < 21 and house == 'yes')"]
    assert page_data["outputs"] == [{"name": "", "favoured": "yes"}]
    assert (page_data["cases"], page_data["saved"]) == (0, 0)
    page.post("decide", {"individual": page_data["start"]})


def test_the_page_and_its_parts_come_with_headers_that_keep_others_out(page):
    for name, kind in (
        ("", "text/html"),
        ("explore.css", "text/css"),
        ("explore.js", "text/javascript"),
    ):
        status, content, headers = page.send("GET", name)
        assert status == 200
        assert content
        assert headers.get_content_type() == kind
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Python" not in headers["Server"]
        assert not [key for key in headers if key.lower().startswith("access-control")]
    assert page.send("GET", "nothing")[0] == 404


def raw(page: Visitor, request: str) -> bytes:
    """Send bytes that no client of the standard library would, and return what comes back."""
    host, port = page.host.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(request.encode())
        return b"".join(iter(lambda: line.recv(4096), b""))


def test_who_has_no_token_gets_nothing(page):
    for path in (
        "/space",
        "/landing.html",
        "/explore.js",
        "/landing.js?x",
        "/../landing.js",
        "//space",
        "/wrong/space",
        "/%00/space",
        "/é/",
        "/favicon.ico",
        "/a/b/c",
        "*",
        "/?x",
    ):
        for method in ("GET", "POST"):
            response = raw(
                page,
                f"{method} {path} HTTP/1.1\r\nHost: {page.host}\r\nContent-Length: 0\r\n\r\n",
            )
            head, _, body = response.partition(b"\r\n\r\n")
            assert b" 403 " in head.splitlines()[0], path
            assert body == b"", path


ROOT_FILES = ("/", "/landing.js", "/explore.css")


def test_the_page_of_links_holds_no_token_and_nothing_of_the_space(page):
    token = page.path.strip("/")
    for path in ROOT_FILES:
        status, content, headers = page.send("GET", path)
        assert status == 200
        for secret in (token, "house", "evenhand.toml", "explored.json"):
            assert secret not in content.decode()
            assert secret not in str(headers)
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"
        assert not [key for key in headers if key.lower().startswith("access-control")]
        assert "Set-Cookie" not in headers


def test_the_page_of_links_is_given_under_our_own_names_alone(page):
    port = page.host.partition(":")[2]
    for path in ROOT_FILES:
        assert page.send("GET", path, Host=f"localhost:{port}")[0] == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", ""):
            assert page.send("GET", path, Host=host)[:2] == (403, b""), host
        assert page.send("POST", path, b"{}")[:2] == (403, b"")


def test_the_page_of_links_asks_nothing_of_the_software(tmp_path):
    asked = []

    def counted(people):
        asked.append(len(people))
        return people["age"] > 30

    with visiting(TabularExplorer(Subject(counted, SPACE)), tmp_path / "a.json") as page:
        for path in ROOT_FILES:
            page.send("GET", path)
        link = {"individual": ANN, "twin": {**ANN, "sex": "M"}}
        assert page.post("link", link) == link | {"place": None}
    assert asked == []


def test_the_case_of_a_link_is_found_among_those_of_the_result(tmp_path):
    subject = Subject(loan, SPACE)
    found = eh.measure(subject, over="sex", margin=0.2)
    cases = cases_of(found)
    with visiting(TabularExplorer(subject), tmp_path / "a.json", cases) as page:
        for at, claimed in enumerate(cases):
            letters = explore_link(claimed.case).partition("#case=")[2]
            padded = letters + "=" * (-len(letters) % 4)
            answer = page.post("link", json.loads(base64.urlsafe_b64decode(padded)))
            assert answer["place"] == at
            (shown,) = page.get(f"cases?from={at}&count=1")["cases"]
            assert shown["id"] == case_id(claimed.case)
            assert shown["individual"] == answer["individual"]
            assert shown["change"] == claimed.case.change_text
            assert shown["text"] == str(claimed.case)


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"individual": ANN},
        {"individual": [1], "twin": ANN},
        {"individual": ANN, "twin": {**ANN, "__proto__": 1}},
        {"individual": ANN, "twin": {**ANN, "sex": TAG}},
        {"individual": ANN, "twin": {**ANN, "age": {"a": [TAG]}}},
        {"individual": ANN, "twin": {"sex": "M"}},
    ],
)
def test_the_case_of_a_link_is_an_input_of_the_space(page, link):
    answer = page.post("link", link, 400)
    sentence(answer, "link", "evenhand.toml")
    assert TAG not in answer["error"]


def test_a_link_is_never_longer_than_the_page_reads():
    text = "x" * 100_000
    assert explore_link(eh.Case({"text": text}, {"text": "y"}, (0, 1))) == ""


def curve_of(page: Visitor, name: str, want: int = 200, **changes: Any) -> Any:
    twin = {**ANN, "sex": "M"}
    request = {"individual": ANN, "twin": twin, "feature": name, "output": ""}
    return page.post("curve", request | changes, want)


def test_a_curve_shows_where_the_two_differ(page):
    found = curve_of(page, "age")
    ages = found["values"]
    assert ages[0] == 18
    assert ages[-1] == 90
    assert 41 <= len(ages) <= 42
    assert ages == sorted(ages) == found["positions"]
    assert [ages[at] for at in found["present"]] == [30, 30]
    differ = [age for age, apart in zip(ages, found["differs"], strict=True) if apart]
    assert differ == [age for age in ages if 20 < age <= 40]
    assert found["scale"]["kind"] == "outcome"
    assert found["scale"]["ticks"] == [[0.0, "not favourable"], [1.0, "favourable"]]
    own, twin = (line["heights"] for line in found["lines"])
    assert own == [float(age > 40) for age in ages]
    assert twin == [float(age > 20) for age in ages]


def test_a_curve_leaves_out_what_no_input_may_be(page):
    twin = {**ANN, "sex": "M", "house": "yes"}
    found = curve_of(page, "age", twin=twin)
    assert found["notes"] == ["2 inputs that break a constraint are left out"]
    assert found["lines"][1]["heights"][:2] == [None, None]
    assert found["differs"][:3] == [None, None, True]
    owner = {**ANN, "house": "yes"}
    both = curve_of(page, "age", individual=owner, twin=twin)
    assert min(both["values"]) >= 21


def test_a_curve_is_asked_in_one_batch(tmp_path):
    asked = []

    def counted(people):
        asked.append(len(people))
        return people["age"] / 7 + (people["sex"] == "M")

    subject = Subject(counted, SPACE, differs=0.5)
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        found = curve_of(page, "rate")
        levels = curve_of(page, "house")
    assert asked == [2 * len(found["values"]), 4]
    assert found["spent"]["asked"] == asked[0]
    assert found["scale"]["kind"] == "number"
    assert found["differs"] == [True] * len(found["values"])
    assert levels["values"] == ["no", "yes"]
    assert levels["positions"] == [0, 1]


def test_a_curve_calls_values_and_outcomes_as_the_user_does(tmp_path):
    space = Space(
        [
            integer("sex", 0, 1, labels={0: "female", 1: "male"}),
            integer("grade", 0, 2, labels={0: "low"}),
        ],
        ["sex"],
    )
    pair = {
        "individual": {"sex": 0, "grade": 1},
        "twin": {"sex": 1, "grade": 1},
    }
    words = {"no": "denied", "yes": "granted"}

    def lend(people):
        return np.where(people["grade"] + people["sex"] > 1, "yes", "no")

    subject = Subject(lend, space, labels=words)
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        form = page.get("space")
        found = page.post("curve", {**pair, "feature": "grade"})
        of_sex = page.post("curve", {**pair, "feature": "sex"})
    sex, grade = form["features"]
    # Where each value has a name, they are a list to choose from.
    assert sex["levels"] == [0, 1]
    assert "levels" not in grade
    assert found["values"] == ["low", 1, 2]
    assert of_sex["values"] == ["female", "male"]
    assert found["lines"][1]["outcomes"] == ["denied", "granted", "granted"]
    assert found["scale"]["ticks"] == [[0.0, "denied"], [1.0, "granted"]]


def test_a_curve_of_a_classifier_shows_its_probability_and_where_it_decides(tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    space = Space([category("sex", [0, 1]), integer("age", 18, 90)], ["sex"])
    people = np.random.default_rng(0).integers([0, 18], [2, 91], size=(400, 2))
    labels = np.where(people @ [20, 1] > 60, "yes", "no")
    pair = {
        "individual": {"sex": 0, "age": 50},
        "twin": {"sex": 1, "age": 50},
        "feature": "age",
    }
    model = LogisticRegression(max_iter=1_000).fit(people, labels)
    for threshold, boundary in ((None, 0.5), (0.8, 0.8)):
        subject = Subject(model, space, positive="yes", threshold=threshold)
        with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
            found = page.post("curve", pair)
        assert found["scale"] == {
            "kind": "probability",
            "boundary": boundary,
            "ticks": [],
            "of": "yes",
        }
        rows = [[0, age] for age in found["values"]]
        heights = model.predict_proba(rows)[:, 1]
        assert found["lines"][0]["heights"] == pytest.approx(heights.tolist())
        outcomes = ["yes" if height > boundary else "no" for height in heights]
        assert found["lines"][0]["outcomes"] == outcomes
    with visiting(
        TabularExplorer(Subject(model, space, positive="no")), tmp_path / "a.json"
    ) as page:
        found = page.post("curve", pair)
    assert found["scale"]["of"] == "no"
    assert found["lines"][0]["heights"] == pytest.approx((1 - heights).tolist())
    machine = LinearSVC().fit(people, labels)
    with visiting(TabularExplorer(Subject(machine, space)), tmp_path / "a.json") as page:
        found = page.post("curve", pair)
    assert (found["scale"]["kind"], found["scale"]["boundary"]) == ("score", 0.0)


def test_what_no_curve_can_be_drawn_of_gets_a_sentence(page, tmp_path):
    sentence(curve_of(page, "agee", 400), "'agee'", "did you mean 'age'")
    sentence(curve_of(page, TAG, 400), "valid choices")
    sentence(curve_of(page, "age", 400, output="x"), "unknown output 'x'")
    sentence(curve_of(page, "age", 400, feature=["age"]), "unknown feature")
    sentence(curve_of(page, "age", 400, twin=None), "individual")
    sentence(curve_of(page, "age", 400, twin={**ANN, "age": 200}), "nearest valid")
    texts = TextSubject(lambda each: [len(text) for text in each])
    desk = TextExplorer(texts, Lexicon.from_dict(TERMS))
    with visiting(desk, tmp_path / "b.json") as page_of_texts:
        sentence(page_of_texts.post("curve", {}, 400), "text")


def test_dates_levels_and_unknown_values_have_curves(tmp_path):
    space = Space(
        [
            category("sex", ["F", "M"]),
            category("place", [f"level {at}" for at in range(90)]),
            eh.date("since", "2020-01-01", "2024-12-31"),
            integer("age", 18, 90, missing=0.1),
        ],
        ["sex"],
    )
    subject = Subject(lambda people: (people["sex"] == "M").tolist(), space)
    person = {"sex": "F", "place": "level 89", "since": "2022-05-05", "age": None}
    pair = {"individual": person, "twin": {**person, "sex": "M"}}
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        dates = page.post("curve", pair | {"feature": "since"})
        places = page.post("curve", pair | {"feature": "place"})
        ages = page.post("curve", pair | {"feature": "age"})
    assert dates["values"][0] == "2020-01-01"
    assert dates["values"][dates["present"][0]] == "2022-05-05"
    assert len(places["values"]) == 61
    assert "level 89" in places["values"]
    assert "of 90 levels" in places["notes"][0]
    assert ages["present"] == [None, None]
    assert all(ages["differs"])


def test_plausible_cases_come_first(tmp_path):
    own: dict[str, Any] = dict(ANN)
    twin = {**own, "sex": "M"}
    cases = []
    for age, realistic in ((30, False), (31, None), (32, True)):
        ages: dict[str, Any] = {"age": age}
        cases.append(eh.Case(own | ages, twin | ages, ("no", "yes"), realistic, realistic))
    estimate = eh.Estimate.exact(3, 10)
    finding = eh.Finding("x", ("sex",), estimate, None, tuple(cases))
    spent = Spent(1, 1, 0.0)
    result = Result("measure", [finding], 0, spent, eh.StopReason.MARGIN, SPACE.to_dict())
    explorer = TabularExplorer(Subject(loan, SPACE))
    with visiting(explorer, tmp_path / "a.json", cases_of(result)) as page:
        shown = page.get("cases")["cases"]
    assert [one["individual"]["age"] for one in shown] == [32, 31, 30]
    assert [one["unusual"] for one in shown] == ["", "", "unusual person and twin"]


def test_a_visit_begins_with_the_case_that_is_named(tmp_path):
    subject = Subject(loan, SPACE)
    cases = cases_of(eh.measure(subject, over="sex", margin=0.2))
    explorer = TabularExplorer(subject)
    saved = SavedPairs(tmp_path / "a.json", explorer.job, explorer.table)
    session = Session(explorer, saved, cases, title="evenhand.toml")
    wanted = case_id(cases[2].case)
    session.begin_with(wanted[:6])
    data = session.page_data({})
    assert data["begin"] == 2
    assert data["start"] == session.cases[2]["individual"]
    refused(UsageError, lambda: session.begin_with("zz"), "'zz'", case_id(cases[0].case))


def test_a_port_that_is_taken_is_replaced_and_named(tmp_path, monkeypatch):
    explorer = TabularExplorer(Subject(loan, SPACE))
    session = Session(explorer, SavedPairs(tmp_path / "a.json", "explore", explorer.table))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr("evenhand.explore.session.EXPLORE_PORT", port)
        printed = io.StringIO()
        server = server_on(session, None, printed)
    assert server.server_port != port
    assert f"port {port}, " in printed.getvalue()
    assert str(server.server_port) in printed.getvalue()
    server.server_close()


def test_a_token_cut_short_is_none(page):
    short = page.path[:-2] + "/"
    assert page.send("GET", short)[:2] == (403, b"")
    assert page.send("GET", page.path.rstrip("/"))[:2] == (403, b"")


def test_another_name_for_this_machine_is_refused(page):
    port = page.host.partition(":")[2]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"[::1]:{port}",
        "",
    ):
        assert page.send("GET", "space", Host=host)[:2] == (403, b""), host


def test_localhost_is_this_machine(page):
    port = page.host.partition(":")[2]
    assert page.send("GET", "space", Host=f"localhost:{port}")[0] == 200


def test_another_page_cannot_ask(page):
    body = json.dumps({"individual": ANN}).encode()
    for origin in (
        "null",
        "http://evil.example",
        f"https://{page.host}",
        f"http://{page.host}.evil.example",
    ):
        sent = page.send(
            "POST", "decide", body, Content_Type="application/json", Origin=origin
        )
        assert sent[:2] == (403, b""), origin


def test_only_this_machine_is_listened_to(page):
    port = int(page.host.partition(":")[2])
    outside = [
        str(info[4][0])
        for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    ]
    for address in {address for address in outside if not address.startswith("127.")}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((address, port), timeout=2).close()


def test_other_methods_get_no_words(page):
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"):
        status, content, headers = page.send(method, "space")
        assert (status, content) == (501, b""), method
        assert "Access-Control-Allow-Origin" not in headers


def test_what_is_no_request_gets_one_sentence(page):
    numbers = (b'{"individual": NaN}', b'{"a": Infinity}', b"9" * 9_000)
    for body in (b"", b"{", b"[1]", b"1", b"\xff\xfe", b"[" * 100_000, *numbers):
        status, content, _ = page.send(
            "POST", "decide", body, Content_Type="application/json"
        )
        assert status == 400, body[:20]
        sentence(json.loads(content), "request")


def test_a_form_of_another_page_is_no_request(page):
    status, content, _ = page.send("POST", "decide", b"{}", Content_Type="text/plain")
    assert status == 400
    sentence(json.loads(content), "application/json")


def test_a_request_that_is_too_long_is_refused_with_the_numbers(page):
    body = b'{"individual": "' + b"x" * MOST_BYTES + b'"}'
    status, content, _ = page.send("POST", "decide", body, Content_Type="application/json")
    assert status == 413
    sentence(json.loads(content), "1,048,576")
    assert page.post("decide", {"individual": ANN})["twins"]


def test_a_request_must_say_how_long_it_is(page):
    for length in ("-1", "1e3", "", "9" * 30, "٣"):
        request = (
            f"POST {page.path}decide HTTP/1.1\r\nHost: {page.host}\r\nContent-Length:"
            f" {length}\r\n\r\n"
        )
        assert b" 400 " in raw(page, request).splitlines()[0]
    assert b" 403 " in raw(page, f"GET {page.path}space HTTP/1.1\r\n\r\n").splitlines()[0]
    twice = (
        f"GET {page.path}space HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\n\r\n"
    )
    assert b" 403 " in raw(page, twice).splitlines()[0]


@pytest.mark.parametrize(
    ("change", "names", "words"),
    [
        ({"sex": "Female"}, ["sex"], ["'sex' = 'Female'", "'F', 'M'"]),
        ({"sex": None}, ["sex"], ["None"]),
        ({"sex": ["F"]}, ["sex"], ["'F', 'M'"]),
        ({"house": "yess"}, ["house"], ["did you mean 'yes'"]),
        ({"age": 95}, ["age"], ["18 to 90", "nearest valid value is 90"]),
        ({"age": 30.4}, ["age"], ["nearest valid value is 30"]),
        ({"age": -(10**400)}, ["age"], ["nearest valid value is 18"]),
        ({"age": ""}, ["age"], ["not a number", "18 to 90"]),
        ({"age": True}, ["age"], ["not a number"]),
        ({"rate": 2}, ["rate"], ["nearest valid value is 1.0"]),
        ({"agee": 3}, [], ["unknown feature 'agee'", "did you mean 'age'"]),
        (
            {"age": 20, "house": "yes"},
            ["age", "house"],
            ["not (age < 21", "nearest valid choice is 'age' = 21"],
        ),
    ],
)
def test_what_is_no_input_gets_the_nearest_that_is(page, change, names, words):
    answer = page.post("decide", {"individual": {**ANN, **change}}, 400)
    sentence(answer, *words)
    assert answer["features"] == names


@pytest.mark.parametrize("individual", [None, [], "x", {}, {"sex": "F"}])
def test_half_an_individual_is_none(page, individual):
    sentence(page.post("decide", {"individual": individual}, 400), "individual")


def test_all_twins_are_one_question(tmp_path):
    asked = []

    def counted(people):
        asked.append(len(people))
        return people["age"] > 30

    space = Space(
        [category("sex", list("abcde")), integer("age", 18, 40)], protected=["sex", "age"]
    )
    with visiting(TabularExplorer(Subject(counted, space)), tmp_path / "a.json") as page:
        answer = page.post("decide", {"individual": {"sex": "a", "age": 30}})
    assert len(answer["twins"]) == 5 * 23 - 1
    assert asked == [5 * 23]
    assert sum(twin["differs"] for twin in answer["twins"]) == 50
    assert [twin["differs"] for twin in answer["twins"]] == [True] * 50 + [False] * 64
    assert answer["outcomes"][0]["favourable"] is None


def test_where_combinations_are_many_each_feature_is_changed_by_itself(tmp_path):
    levels = [f"level {number}" for number in range(5_000)]
    space = Space(
        [category("place", levels), real("age", 0, 100), integer("x", 0, 3)],
        protected=["place", "age"],
    )
    with visiting(
        TabularExplorer(Subject(lambda people: people["age"] > 50, space)),
        tmp_path / "a.json",
    ) as page:
        answer = page.post(
            "decide", {"individual": {"place": "level 4999", "age": 10.5, "x": 0}}
        )
    changed = [tuple(twin["changed"]) for twin in answer["twins"]]
    assert changed.count(("place",)) == 200
    assert changed.count(("age",)) == 20
    assert len(changed) == 220
    assert any("200 values of 5,000" in note for note in answer["notes"])
    assert any("20 values of all numbers" in note for note in answer["notes"])


def test_twins_that_break_a_constraint_are_left_out(tmp_path):
    space = Space(
        [category("sex", ["F", "M"]), integer("births", 0, 9)],
        ["sex"],
        ["not (sex == 'M' and births > 0)"],
    )
    with visiting(
        TabularExplorer(Subject(lambda people: people["births"] > 0, space)),
        tmp_path / "a.json",
    ) as page:
        answer = page.post("decide", {"individual": {"sex": "F", "births": 2}})
        assert (answer["twins"], answer["notes"]) == (
            [],
            ["1 twin that breaks a constraint is left out"],
        )
        assert (
            len(page.post("decide", {"individual": {"sex": "F", "births": 0}})["twins"])
            == 1
        )


def test_a_space_without_protected_features_has_no_twins(tmp_path):
    space = Space([integer("age", 0, 9)])
    with visiting(
        TabularExplorer(Subject(lambda people: people["age"], space)), tmp_path / "a.json"
    ) as page:
        answer = page.post("decide", {"individual": {"age": 3}})
    assert answer["twins"] == []
    assert "no feature of the space is protected" in answer["notes"][0]


def test_the_rule_of_difference_is_that_of_the_subject(tmp_path):
    space = Space([integer("age", 0, 9)], protected=["age"])
    subject = Subject(lambda people: people["age"] / 10, space, differs=0.25)
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        answer = page.post("decide", {"individual": {"age": 5}})
    far = {twin["individual"]["age"] for twin in answer["twins"] if twin["differs"]}
    assert far == {0, 1, 2, 8, 9}


def test_each_of_several_outputs_is_compared_by_itself(tmp_path):
    def two(people):
        return {"grant": people["age"] > 30, "rate": (people["sex"] == "M") * 5}

    subject = Subject(two, SPACE, outputs=["grant", "rate"], positive={"grant": True})
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        answer = page.post("decide", {"individual": ANN})
        assert (
            page.post("save", {"individual": ANN, "twin": {**ANN, "sex": "M"}})["saved"]
            == 1
        )
    grant, rate = answer["outcomes"]
    assert (grant["output"], grant["favourable"]) == ("grant", False)
    assert (rate["output"], rate["favourable"]) == ("rate", None)
    twin_grant, twin_rate = answer["twins"][0]["outcomes"]
    assert not twin_grant["differs"]
    assert twin_rate["differs"]
    (finding,) = Result.from_json(tmp_path / "a.json").findings
    assert (finding.output, finding.cases[0].outcomes) == ("rate", (0, 5))
    assert eh.replay(tmp_path / "a.json", subject).verdict == "fail"


def test_software_that_fails_leaves_the_page_usable(tmp_path):
    def sick(people):
        if (people["age"] > 80).any():
            raise RuntimeError("out of\ncheese")
        return people["age"] > 40

    with visiting(TabularExplorer(Subject(sick, SPACE)), tmp_path / "a.json") as page:
        sentence(page.post("decide", {"individual": {**ANN, "age": 81}}, 502), "cheese")
        sentence(
            page.post(
                "save", {"individual": {**ANN, "age": 81}, "twin": {**ANN, "age": 82}}, 502
            ),
            "cheese",
        )
        assert page.post("decide", {"individual": ANN})["outcomes"][0]["value"] is False
    assert not (tmp_path / "a.json").exists()


def test_saved_pairs_are_asked_of_the_software_itself_and_replay(page, tmp_path):
    twin = {**ANN, "sex": "M"}
    answer = page.post(
        "save", {"individual": ANN, "twin": twin, "outcomes": ["lie", "lie"]}
    )
    assert answer == {"new": True, "saved": 1, "file": str(tmp_path / "explored.json")}
    assert page.post("save", {"individual": ANN, "twin": twin})["new"] is False
    older = {**ANN, "age": 22, "house": "yes", "rate": 0.1}
    assert (
        page.post("save", {"individual": older, "twin": {**older, "sex": "M"}})["saved"]
        == 2
    )
    assert page.post("save", {"individual": ANN, "twin": {**twin, "age": 50}})["saved"] == 3
    result = Result.from_json(tmp_path / "explored.json")
    assert result.job == "explore"
    assert {finding.about: len(finding.cases) for finding in result.findings} == {
        ("sex",): 2,
        ("sex", "age"): 1,
    }
    assert result.findings[0].cases[0].outcomes == ("no", "yes")
    assert result.findings[0].estimate.method == "by hand"
    again = eh.replay(tmp_path / "explored.json", Subject(loan, SPACE))
    assert (again.verdict, again.worst.claim) == (
        "fail",
        "2 of 2 cases of sex still differ",
    )
    better = eh.replay(
        tmp_path / "explored.json", Subject(lambda people: people["age"] >= 0, SPACE)
    )
    assert better.verdict == "pass"
    assert [file.name for file in tmp_path.iterdir()] == ["explored.json"]


def test_a_saved_file_fits_the_schema(page, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    from evenhand.results.result import schema

    page.post("save", {"individual": ANN, "twin": {**ANN, "sex": "M"}})
    jsonschema.validate(json.loads((tmp_path / "explored.json").read_text()), schema())


@pytest.mark.parametrize(
    ("twin", "words"),
    [
        ({}, ["the same"]),
        ({"house": "yes"}, ["do not differ"]),
        ({"sex": "X"}, ["'F', 'M'"]),
        ({"age": 20, "house": "yes"}, ["constraint"]),
    ],
)
def test_only_two_inputs_that_differ_are_a_pair(page, tmp_path, twin, words):
    sentence(page.post("save", {"individual": ANN, "twin": {**ANN, **twin}}, 400), *words)
    assert not (tmp_path / "explored.json").exists()


def test_software_that_answers_twice_differently_makes_no_pair(tmp_path):
    answers = iter(range(1_000))
    subject = Subject(
        lambda people: [next(answers) for _ in range(len(people))], SPACE, memo=False
    )
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        sentence(
            page.post("save", {"individual": ANN, "twin": {**ANN, "sex": "M"}}, 502),
            "when asked again",
        )


def test_a_second_visit_goes_on_with_the_file_of_the_first(tmp_path):
    file, subject = tmp_path / "explored.json", Subject(loan, SPACE)
    for number, age in enumerate((30, 35), start=1):
        with visiting(TabularExplorer(subject), file) as page:
            pair = {
                "individual": {**ANN, "age": age},
                "twin": {**ANN, "age": age, "sex": "M"},
            }
            assert page.post("save", pair)["saved"] == number
    with visiting(TabularExplorer(subject), file, cases_of(Result.from_json(file))) as page:
        page_data = page.get("space")
        assert (page_data["saved"], page_data["cases"]) == (2, 2)


def test_a_file_of_something_else_is_never_overwritten(tmp_path):
    file, explorer = tmp_path / "kept.json", TabularExplorer(Subject(loan, SPACE))
    measured = eh.measure(explorer.subject, over="sex", margin=0.2)
    for text, words in (
        ("hello", "not a JSON file"),
        ("{}", "not an evenhand result"),
        (measured.to_json(), "holds a measure and not saved pairs"),
    ):
        file.write_text(text)
        refused(
            UsageError,
            lambda: SavedPairs(file, explorer.job, explorer.table),
            str(file),
            words,
            "--save",
        )
        assert file.read_text() == text
    refused(
        UsageError,
        lambda: SavedPairs(tmp_path / "no" / "a.json", explorer.job, explorer.table),
        "there is no folder",
    )
    with visiting(explorer, tmp_path / "mine.json") as page:
        page.post("save", {"individual": ANN, "twin": {**ANN, "sex": "M"}})
    other = TabularExplorer(Subject(loan, Space(SPACE.features[:2], ["sex"])))
    refused(
        UsageError,
        lambda: SavedPairs(tmp_path / "mine.json", other.job, other.table),
        "another space",
        "--save",
    )


def test_a_file_that_becomes_another_while_the_page_is_open_stays(page, tmp_path):
    (tmp_path / "explored.json").write_text("mine now")
    sentence(
        page.post("save", {"individual": ANN, "twin": {**ANN, "sex": "M"}}, 400),
        "not a JSON file",
    )
    assert (tmp_path / "explored.json").read_text() == "mine now"


def test_the_cases_of_a_search_can_be_walked_through(tmp_path):
    subject = Subject(loan, SPACE)
    found = eh.search(subject, over="sex", budget=eh.Budget(queries=4_000), seed=0)
    found.to_json(tmp_path / "found.json")
    shown = cases_of(Result.from_json(tmp_path / "found.json"))
    assert len(shown) >= len(found.to_frame().head(1_000))
    with visiting(TabularExplorer(subject), tmp_path / "a.json", shown) as page:
        total = page.get("space")["cases"]
        assert total == len(shown)
        some = page.get("cases?from=1&count=3")
        assert (some["total"], some["from"], len(some["cases"])) == (total, 1, 3)
        assert page.get(f"cases?from={total}")["cases"] == []
        assert len(page.get("cases?count=999999")["cases"]) == 100
        for wrong in ("-1", "x", "1" * 20):
            status, content, _ = page.send("GET", f"cases?from={wrong}")
            assert status == 400
            sentence(json.loads(content), "from")
        for case in some["cases"]:
            answer = page.post("decide", case)
            (twin,) = [
                twin for twin in answer["twins"] if twin["individual"] == case["twin"]
            ]
            assert twin["differs"]
            assert [answer["outcomes"][0]["value"], twin["outcomes"][0]["value"]] == case[
                "outcomes"
            ]


def test_the_twin_of_a_case_is_asked_whatever_it_changes(page):
    twin = {**ANN, "age": 60, "house": "yes"}
    answer = page.post("decide", {"individual": ANN, "twin": twin})
    assert [twin["changed"] for twin in answer["twins"]] == [["sex"], ["age", "house"]]


def test_the_cases_of_an_audit_are_those_of_all_its_checks(tmp_path):
    from evenhand.methods.audit.audit_result import gathered

    subject = Subject(loan, SPACE)
    for name in ("sex", "house"):
        eh.measure(subject, over=name, margin=0.2).to_json(tmp_path / f"{name}.json")
    audit = gathered([tmp_path / "sex.json", tmp_path / "house.json"])
    both = cases_of(audit)
    assert 0 < len(both) == len({str(one.case) for one in both})
    assert cases_of(None) == []


def test_cases_of_another_space_are_refused(tmp_path):
    found = eh.measure(Subject(loan, SPACE), over="sex", margin=0.2)
    explorer = TabularExplorer(
        Subject(lambda people: people["x"], Space([integer("x", 0, 9)]))
    )
    kept = SavedPairs(tmp_path / "a.json", explorer.job, explorer.table)
    refused(
        UsageError,
        lambda: Session(explorer, kept, cases_of(found), title="evenhand.toml"),
        "evenhand.toml",
    )


def test_hostile_names_and_values_stay_what_they_are(tmp_path):
    space = Space(
        [
            category(TAG, HOSTILE),
            category("big", [2**60, 2**60 + 1, 3]),
            real("half", 0, 1, step=0.5),
        ],
        [TAG, "big"],
    )
    subject = Subject(lambda people: [f"{value}!" for value in people[TAG]], space)
    with visiting(TabularExplorer(subject), tmp_path / "a.json") as page:
        page_data = page.get("space")
        assert page_data["features"][0]["levels"] == HOSTILE
        assert page_data["features"][1]["levels"] == [str(2**60), str(2**60 + 1), 3]
        one = {TAG: HOSTILE[1], "big": str(2**60 + 1), "half": 0.5}
        answer = page.post("decide", {"individual": one})
        assert answer["individual"] == one
        assert answer["outcomes"][0]["value"] == HOSTILE[1] + "!"
        assert len(answer["twins"]) == 3 * len(HOSTILE) - 1
        for value in HOSTILE[2:]:
            twin = {**one, TAG: value}
            assert page.post("save", {"individual": one, "twin": twin})["new"], value
        sentence(
            page.post("decide", {"individual": {**one, TAG: "y" * 10_000}}, 400), "levels"
        )
        sentence(
            page.post("decide", {"individual": {**one, "z" * 10_000: 1}}, 400),
            "unknown feature",
        )
    cases = Result.from_json(tmp_path / "a.json").findings[0].cases
    assert [case.twin for case in cases] == [
        {TAG: value, "big": 2**60 + 1, "half": 0.5} for value in HOSTILE[2:]
    ]


@settings(max_examples=examples(60), deadline=None)
@given(
    low=st.integers(-500, 500),
    width=st.integers(0, 3_000),
    step=st.integers(1, 40),
    most=st.integers(2, 60),
)
def test_numbers_spread_over_a_range_are_values_of_it(low, width, step, most):
    feature = integer("x", low, low + width, step=step)
    values = spread(feature, most)
    assert 1 <= len(values) <= most
    assert feature.inside(values).all()
    assert len(set(values.tolist())) == len(values)


@settings(max_examples=examples(60), deadline=None)
@given(
    value=st.one_of(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
        st.booleans(),
    )
)
def test_any_value_is_an_input_or_gets_a_sentence(value):
    space = Space([integer("n", 3, 50, step=7), real("r", -1, 1)], ["n"])
    explorer = TabularExplorer(Subject(lambda people: people["n"] > 9, space))
    for name in ("n", "r"):
        try:
            answer = explorer.decide({"n": 10, "r": 0.0, name: value})
        except UsageError as error:
            assert "\n" not in str(error)
            assert "nearest valid value" in str(error) or "not a number" in str(error)
        else:
            assert answer["individual"][name] == pytest.approx(value)


def test_texts_have_twins_with_other_terms(tmp_path):
    subject = TextSubject(
        lambda texts: ["gay" in text.lower() for text in texts], positive=False
    )
    explorer = TextExplorer(subject, Lexicon.from_dict(TERMS))
    with visiting(explorer, tmp_path / "a.json") as page:
        page_data = page.get("space")
        assert (page_data["kind"], page_data["lexicon"]["gender"]) == (
            "texts",
            ["gay", "straight", "lesbian"],
        )
        answer = page.post("decide", {"individual": {"text": "A Gay muslim ⟦x⟧"}})
        assert answer["outcomes"][0] == {
            "output": "",
            "value": True,
            "favourable": False,
            "differs": False,
        }
        differing = [
            twin["individual"]["text"] for twin in answer["twins"] if twin["differs"]
        ]
        assert differing == ["A Straight muslim ⟦x⟧", "A Lesbian muslim ⟦x⟧"]
        assert len(answer["twins"]) == 4
        pair = {"individual": {"text": "A Gay muslim ⟦x⟧"}, "twin": {"text": differing[0]}}
        assert page.post("save", pair)["saved"] == 1
        sentence(page.post("save", {**pair, "twin": {"text": "another"}}, 400), "no pair")
        sentence(
            page.post("save", {**pair, "twin": {"text": "A Gay christian ⟦x⟧"}}, 400),
            "do not differ",
        )
        sentence(page.post("decide", {"individual": {"words": "x"}}, 400), "no text")
        assert (
            "names no term" in page.post("decide", {"individual": {"text": ""}})["notes"][0]
        )
    assert (
        eh.replay(tmp_path / "a.json", subject).worst.claim
        == "1 of 1 cases of gender still differ"
    )
    with visiting(
        explorer, tmp_path / "a.json", cases_of(Result.from_json(tmp_path / "a.json"))
    ) as page:
        (case,) = page.get("cases")["cases"]
        assert (case["individual"], case["twin"]) == (pair["individual"], pair["twin"])
        assert page.post("decide", case)["twins"][0]["differs"]


def test_a_text_to_begin_with_names_a_term(tmp_path):
    (tmp_path / "texts.csv").write_text("comment\nhello\na gay man\n")
    from evenhand.config.file import Config

    config = Config(
        tmp_path / "evenhand.toml", {"texts": {"from": "texts.csv", "column": "comment"}}
    )
    explorer = TextExplorer(
        TextSubject(lambda texts: [len(text) for text in texts]),
        Lexicon.from_dict(TERMS),
        config.texts,
    )
    assert explorer.start() == {"text": "a gay man"}
    assert TextExplorer(explorer.subject, explorer.lexicon).start() == {"text": ""}


def test_a_real_program_is_explored(tmp_path):
    person = {
        "race": "purple",
        "sex": "male",
        "age": 40,
        "income": 60,
        "savings": 20,
        "employed": "yes",
        "amount": 30,
    }
    with (
        loan_subject() as subject,
        visiting(TabularExplorer(subject), tmp_path / "a.json") as page,
    ):
        answer = page.post("decide", {"individual": person})
        assert answer["outcomes"][0]["value"] == "deny"
        assert [twin["changed"] for twin in answer["twins"] if twin["differs"]] == [
            ["race"],
            ["race", "sex"],
        ]
        page.post("decide", {"individual": person})
        assert subject.executed == 4
        assert (
            page.post("save", {"individual": person, "twin": {**person, "race": "green"}})[
                "saved"
            ]
            == 1
        )
        assert eh.replay(tmp_path / "a.json", subject).verdict == "fail"


CONFIG = """
[subject]
command = {argv}
positive = "approve"
[space]
protected = ["race", "sex"]
"""


def written(folder: Path) -> Path:
    argv = json.dumps([sys.executable, "-I", "-S", str(PROGRAM), "{*}"])
    text = CONFIG.replace("{argv}", argv)
    for feature in loan_space().features:
        table = {key: value for key, value in feature.to_dict().items() if key != "name"}
        text += f"[space.features.{feature.name}]\n" + "".join(
            f"{key} = {json.dumps(table[key])}\n" for key in table
        )
    file = folder / "loan.toml"
    file.write_text(text)
    return file


RUN = """
import argparse, sys
from evenhand.explore.session import explore
file, save = sys.argv[1:]
options = argparse.Namespace(
    file=file, config=None, trust=True, port=0, save=save, no_browser=True
)
sys.exit(explore(options))
"""


def test_the_page_is_served_until_somebody_ends_it(tmp_path):
    argv = [
        sys.executable,
        "-c",
        RUN,
        str(written(tmp_path)),
        str(tmp_path / "explored.json"),
    ]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        page = Visitor(line.split(" at ")[1].split()[0])
        assert line.startswith("Exploring loan.toml at http://127.0.0.1:")
        start = page.get("space")["start"]
        person = {
            **start,
            "race": "purple",
            "income": 60,
            "savings": 20,
            "employed": "yes",
            "amount": 30,
        }
        page.post("save", {"individual": person, "twin": {**person, "race": "green"}})
        os.kill(process.pid, signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert rest == f"saved 1 case to {tmp_path / 'explored.json'}\n"


def options(file: Any, config: Any = None, **others: Any) -> argparse.Namespace:
    return argparse.Namespace(
        **{
            "file": file,
            "config": config,
            "trust": False,
            "port": 0,
            "save": "x.json",
            "no_browser": True,
        }
        | others
    )


def test_what_cannot_be_explored_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = str(written(tmp_path))
    refused(UsageError, lambda: explore(options("found.csv")), "found.csv", "'.json'")
    refused(UsageError, lambda: explore(options(file, file)), "both configurations")
    refused(UsageError, lambda: explore(options("none.json")), "none.json")
    refused(UsageError, lambda: explore(options(file, case="1a")), "--case 1a", "result")
    refused(UsageError, lambda: explore(options(file, port=70_000)), "port 70000", "65535")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(
            UsageError, lambda: explore(options(file, port=port)), f"port {port}", "--port"
        )
    (tmp_path / "x.json").write_text("{}")
    refused(UsageError, lambda: explore(options(file)), "x.json", "--save")
