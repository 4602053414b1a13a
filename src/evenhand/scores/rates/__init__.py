"""Outcomes that are favourable or not: how often each group gets the favourable one."""
