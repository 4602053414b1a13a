"""What is said of recorded decisions that cannot be counted."""

NO_ROWS = "the frame has no rows; there is no decision to measure"
IN_FIRST_ROWS = " in its first {rows} rows"
TOO_MANY_CELLS = (
    "the columns {columns} make over {most} different rows, more than can be compared; choose"
    " fewer columns, or give bins"
)
