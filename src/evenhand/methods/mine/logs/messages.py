"""What people are told of large logs."""

MANY_KINDS_OF_ROWS = (
    "the rows are of {kinds} different kinds, which are all held in memory; fewer columns in"
    " over, or fewer bins, make fewer"
)
TOO_MANY_KINDS_OF_ROWS = (
    "over {columns}: the rows are of more than {kinds} different kinds, the most that are read;"
    " take sets of fewer columns, such as over=[['sex', 'age'], ['sex', 'race']], fewer bins, or a"
    " random sample of the rows"
)
AMONG_DIFFERENT_ROWS = "{error} (rows are counted here among those that differ)"
QUANTILES_OF_ALL_ROWS = (
    "the quantiles of {columns} are those of all rows, for the people of every score; a frame in"
    " memory gives people their own"
)
