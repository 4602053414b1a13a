"""The report of an audit as one page, in the order of a reader's questions."""
