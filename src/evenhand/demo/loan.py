"""Decide loan applications: loan.py RACE SEX AGE INCOME SAVINGS EMPLOYED AMOUNT.

Money is in thousands. Without arguments it reads one application per line, as a JSON object, and
prints one decision per line.

The bias is planted: a purple applicant needs 8,000 more to get the same loan.
"""

import json
import sys


def decide(
    race: str, sex: str, age: str, income: str, savings: str, employed: str, amount: str
) -> str:
    """Return approve or deny."""
    means = 0.35 * int(income) + 0.4 * int(savings) + (4 if employed == "yes" else 0)
    needed = int(amount) + (8 if race == "purple" else 0)
    return "approve" if means >= needed else "deny"


if __name__ == "__main__":
    if sys.argv[1:]:
        print(decide(*sys.argv[1:]))
    else:
        for line in sys.stdin:
            print(decide(**json.loads(line)), flush=True)
