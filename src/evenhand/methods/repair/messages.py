"""Every sentence that `repair` writes for people, in one place."""

# Two models on the same inputs (paired.py)

CHANGE = "{verdict}: {before} before, {after} after ({facts})"
CHANGE_WITH_PART = "{verdict}: {before} before, {after} after, {part} ({facts})"
PART_FEWER = "{percent} fewer"
PART_MORE = "{percent} more"
PART_BETWEEN = "{low} to {high}"
PART_AT_MOST = "at most {part}"
PART_AT_LEAST = "at least {part}"
SAMPLE_SIZE = "n = {n}"
POPULATION = "population: {population}"
CHANGE_UNREADABLE = "this is not a recorded change: {error}"
CHANGE_WITHOUT_AMOUNTS = "this is not a recorded change: fall and fewer must be amounts"
COLUMN_NOT_SHARES = "{name} must be one column of numbers from 0 to 1, such as hits"
COLUMNS_DIFFER = (
    "before has {before} inputs and after has {after} inputs; ask both models about the same inputs"
)
INSIDE_DIFFERS = (
    "inside has {inside} rows and before has {before} rows; give one value for every row"
)
