"""The scores that several verbs share: causal and group questions, twins, enumeration, sampling."""
