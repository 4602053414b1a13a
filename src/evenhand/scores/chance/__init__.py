"""Software with chance in it: how it is noticed, and the causal score that allows for it."""
