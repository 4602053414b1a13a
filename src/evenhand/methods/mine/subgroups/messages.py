"""The sentences of the tree of subgroups, whole, for a translator."""

TREE_HEADING = "Tree of subgroups"
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

# ------------------------------------------------------------------------------------------------
# A page.
# ------------------------------------------------------------------------------------------------

PLAIN_SUBGROUP = (
    "Of every {whole} people with {worst}, about {low} get the favourable outcome; of every {whole}"
    " others, about {high} do"
)
PLAIN_SUBGROUP_AND_NEIGHBOURS = (
    "Of every {whole} inputs like those of people with {worst}, about {low} get the favourable"
    " outcome; of every {whole} like those of others, about {high} do"
)
PLAIN_OTHERS = (
    "Of all other subgroups, variations of these included, none differs from everyone else by more"
    " than {high} of every {whole} people"
)
PLAIN_ALL = (
    "Of all subgroups, none differs from everyone else by more than {high} of every {whole}"
    " people"
)
PLAIN_OTHER_MEANS = (
    "Of all other subgroups, variations of these included, none gets over {high} more or less"
    " than everyone else on average"
)
PLAIN_ALL_MEANS = (
    "Of all subgroups, none gets over {high} more or less than everyone else on average"
)
PLAIN_SOME_OTHER = (
    "Of all other subgroups, variations of these included, at least one differs from everyone else"
    " by {low} or more of every {whole} people"
)
PLAIN_SOME = (
    "Of all subgroups, at least one differs from everyone else by {low} or more of every {whole}"
    " people"
)
PLAIN_SOME_OTHER_MEAN = (
    "Of all other subgroups, variations of these included, at least one gets {low} or more above"
    " or below everyone else on average"
)
PLAIN_SOME_MEAN = (
    "Of all subgroups, at least one gets {low} or more above or below everyone else on"
    " average"
)
PLAIN_LESS = (
    "On average, people with {story} get {gap} less than everyone else: {mean} against"
    " {other}"
)
PLAIN_MORE = (
    "On average, people with {story} get {gap} more than everyone else: {mean} against"
    " {other}"
)
PLAIN_LESS_AND_NEIGHBOURS = (
    "On average, inputs like those of people with {story} get {gap} less than those like everyone"
    " else's: {mean} against {other}"
)
PLAIN_MORE_AND_NEIGHBOURS = (
    "On average, inputs like those of people with {story} get {gap} more than those like everyone"
    " else's: {mean} against {other}"
)
PLAIN_ALL_TERMS = (
    "Of all terms, alone and together, none differs from what it is compared with by more than"
    " {high} of every {whole} texts"
)
PLAIN_OTHER_TERMS = (
    "Of all other terms, and of terms together, none differs from what it is compared with by more"
    " than {high} of every {whole} texts"
)
PLAIN_SOME_TERM = (
    "Of all terms, alone and together, at least one differs from what it is compared with by {low}"
    " or more of every {whole} texts"
)
PLAIN_SOME_OTHER_TERM = (
    "Of all other terms, and of terms together, at least one differs from what it is compared with"
    " by {low} or more of every {whole} texts"
)
PLAIN_TERM = (
    "Of every {whole} texts that say {worst}, about {low} get the favourable outcome; of every"
    " {whole} that they are compared with, about {high} do"
)
PLAIN_CHANGES = (
    "Of every {whole} texts that name {features}, about {value} get another outcome when nothing"
    " but that term is changed"
)
PLAIN_NO_CHANGES = (
    "Changing nothing but the term for {features} changed no outcome that was looked at; of every"
    " {whole} texts that name one, at most {high} may be affected"
)
PICTURE_OF_SUBGROUPS = (
    "The subgroups that are treated most differently, with their intervals."
)
ALL_RULE_SETS = "All subgroups that were found, as a table"
RULE_SETS_TABLE = (
    "Rule sets: how much their people's rate differs from that of everyone else."
    " Population: {population}."
)
PICTURE_OF_TERMS = (
    "The terms with which texts are treated most differently, with their intervals."
)
ALL_TERMS = "All terms that were found, as a table"
COLUMN_COMPARED_WITH = "compared with"
TERMS_TABLE = (
    "Terms: how much the rate of texts that say them differs from that of the texts they are"
    " compared with. Population: {population}."
)
PICTURE_OF_CHANGES = "How often another term changes the outcome, with intervals."
TABLE_OF_CHANGES = "How often another term changes the outcome, as a table"
CHANGES_TABLE = (
    "Terms by what they are about: how often another one changes the outcome."
    " Population: {population}."
)
