"""The models of the Fairea paper (section 5.4), on frames with texts and numbers."""

from __future__ import annotations

from typing import Any

from evenhand.runtime.errors import UsageError, clip, nearest

MODELS = {
    "LR": "logistic regression",
    "DT": "decision tree",
    "SVM": "support vector machine with a radial kernel",
    "LinearSVM": "linear support vector machine",
}
"""The models by name."""


def model(name: str) -> Any:
    """Return a model of the paper that is not fitted.

    It has one column for each level of a text, and then the classifier of scikit-learn with its
    defaults. Numbers are standardised but for the tree, which does not mind. The support vector
    machine is `SVC()`, as in the paper; its margin stands in for a chance, since `probability=True`
    trains it six times and may contradict its own labels. Its time grows with more than the square
    of the rows: on Adult a minute for a fit, where "LinearSVM" takes a second.

    >>> model("DT")[-1]
    DecisionTreeClassifier()
    """
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    known = {
        "LR": LogisticRegression,
        "DT": DecisionTreeClassifier,
        "SVM": SVC,
        "LinearSVM": LinearSVC,
    }
    if name not in known:
        raise UsageError(f"unknown model {clip(repr(name))}; {nearest(name, known)}")
    numbers = "passthrough" if name == "DT" else StandardScaler()
    encoder = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_exclude="number"),
        ),
        (numbers, make_column_selector(dtype_include="number")),
    )
    return make_pipeline(encoder, known[name]())
