"""Two audits of one piece of software, an older and a newer one: what changed between them."""
