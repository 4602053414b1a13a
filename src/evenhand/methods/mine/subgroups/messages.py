"""The sentences of the tree of subgroups, whole, for a translator."""

TREE_HEADING = "Tree of subgroups"
TREE_INTRODUCED = (
    "Open a subgroup to see what carries its difference, the stories within it, and its"
    " refinements, which are compared with the other people of it."
)
EVERYBODY = "everybody: {rows} rows"
EVERYBODY_AT_LEVEL = "everybody: {rows} rows; in brackets, intervals at {level}"
RATE_AGAINST = "{rate} against {other} of {others}"
RATE_WITHIN = "{rate} against {other}"
SHARE_OF_ROWS = "{share} of rows"
WHAT_CARRIES = "What carries the difference"
STORIES_WITHIN = "Stories within it"
REFINEMENTS_WITHIN = "Refinements, against the other people of the subgroup"
VARIATIONS_EXPLAINED = "Variations that the story explains: {count}"
VARIATIONS_SHOWN = (
    "Variations that the story explains: {count}, of which {shown} are listed"
)
IS_SHOWN = "differs"
MAY_BE_CHANCE = "may be chance"
MORE_REFINEMENTS = "{count} more refinements"
MORE_STORIES = "{count} more are in the table below."
