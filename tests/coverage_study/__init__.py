"""Do the intervals and verdicts that the verbs print hold their level? By simulation."""
