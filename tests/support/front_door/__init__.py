"""The front door: software of every kind, as a stranger would bring it.

For each kind there is a planted bias and a fair twin. `evenhand init` and `evenhand audit` run in
processes of their own, with no hand on the file in between.

    python -m tests.support.front_door            # all kinds, in this environment
    python -m tests.support.front_door --fresh    # in a new one, with evenhand installed in it
"""
