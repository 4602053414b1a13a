"""What the pages of all verbs are made of: parts that answer a reader's question, cards, cases."""
