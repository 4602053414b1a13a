"""Every sentence about the scores of `mine` and `mine_log`, in one place."""

# Errors: scores that cannot be, and people that there are not.

SCORES_NOT_DISTINCT = "score = {score} must name one or more of {scores}, each once"
SCORE_OF_NUMBERS = (
    "score = {score} is for outcomes that are favourable or not, but the outcomes are numbers,"
    " whose means are compared; leave it out"
)
SCORE_OF_SCORES = (
    "score = {score} is for outcomes that are favourable or not, but the outcomes are scores; take"
    " labels, as with threshold=0.5, or score='calibration'"
)
MEAN_OF_LABELS = (
    "score = {score} is for outcomes that are scores or numbers, but they are favourable or not;"
    " take score='rate'"
)
CALIBRATION_OF_LABELS = (
    "score = {score} is for outcomes that are probabilities, but they are favourable or not; take"
    " scores, as with output='score', or score='error'"
)
CALIBRATION_OUTSIDE = (
    "score = 'calibration' is for outcomes that are probabilities, but one of them is {number},"
    " which is not from 0 to 1"
)
SCORE_NEEDS_TRUTH = "score = {score} needs true outcomes; name their column with truth=…"
NO_TRUE_FAVOURABLE = (
    "score = {score}: no row has a true outcome that is favourable; there is nobody to"
    " compare"
)
NO_TRUE_UNFAVOURABLE = (
    "score = {score}: every true outcome is favourable; there is nobody to compare"
)
NOBODY_FAVOURED = (
    "score = {score}: nobody gets the favourable outcome; there is nobody to compare"
)
NOBODY_DENIED = (
    "score = {score}: everybody gets the favourable outcome; there is nobody to compare"
)

# Whom a score is about: in sentences, and as a population.

AMONG_FAVOURABLE = "of those whose true outcome is favourable, {sentence}"
AMONG_UNFAVOURABLE = "of those whose true outcome is not favourable, {sentence}"
AMONG_FAVOURED = "of those who get {outcome}, {sentence}"
AMONG_DENIED = "of those who are denied {outcome}, {sentence}"
TRULY_FAVOURABLE = "{population}, whose true outcome is favourable"
TRULY_UNFAVOURABLE = "{population}, whose true outcome is not favourable"
WHO_GET_IT = "{population}, who get the favourable outcome"
WHO_ARE_DENIED = "{population}, who are denied the favourable outcome"

# Claims of findings.

PEOPLE_RATES = (
    "{rate} of people with {rule} get {outcome}, and {other_rate} of {others}"
    " ({difference})"
)
PEOPLE_MEANS = (
    "people with {rule} score {mean} on average, {others} {other_mean} ({difference})"
)
PEOPLE_NUMBERS = (
    "the mean {outcome} of people with {rule} is {mean}, of {others} {other_mean}"
    " ({difference})"
)
PEOPLE_WRONG = (
    "people with {rule} are decided wrongly {rate} of the time, {others} {other_rate}"
    " ({difference})"
)
PEOPLE_DENIED = (
    "{rate} of people with {rule} are denied {outcome}, and {other_rate} of {others}"
    " ({difference})"
)
GET_RIGHTLY = (
    "people with {rule} get it rightly {rate} of the time, {others} {other_rate}"
    " ({difference})"
)
GET_WRONGLY = (
    "people with {rule} get it wrongly {rate} of the time, {others} {other_rate}"
    " ({difference})"
)
DENIED_WRONGLY = (
    "people with {rule} are denied it wrongly {rate} of the time, {others} {other_rate}"
    " ({difference})"
)
PEOPLE_GAPS = (
    "people with {rule} score {rate} on average, {others} {other_rate} ({difference})"
)
TOO_LOW = "{points} too low"
TOO_HIGH = "{points} too high"

# Text on a terminal: what was compared.

PEOPLE_RATES_COMPARED = "how often people get {outcome}, {treatment}"
PEOPLE_NUMBERS_COMPARED = "the mean {outcome} of people, {treatment}"
PEOPLE_MEANS_COMPARED = "how people score on average, {treatment}"
PEOPLE_WRONG_COMPARED = "how often people are decided wrongly, {treatment}"
PEOPLE_DENIED_COMPARED = "how often people are denied {outcome}, {treatment}"
GET_RIGHTLY_COMPARED = "how often people get it rightly, {treatment}"
GET_WRONGLY_COMPARED = "how often people get it wrongly, {treatment}"
DENIED_WRONGLY_COMPARED = "how often people are denied it wrongly, {treatment}"
PEOPLE_GAPS_COMPARED = "how much people score too low on average, {treatment}"

# Headings of the table on a terminal.

HEADING_THEIR_RATE = "their\nrate"
HEADING_THEIR_SCORE = "their\nscore"
HEADING_THEIR_MEAN = "their\nmean"
HEADING_TOO_LOW = "scored\ntoo low"
HEADING_APART = "\napart"
HEADING_POINTS_APART = "points\napart"

# Bars: the axis and its ends.

BARS_IN_POINTS = "difference from {others}, in points"
BARS_OF_MEANS = "difference from {others}"
LESS_OFTEN = "← less often"
MORE_OFTEN = "more often →"
LOWER = "← lower"
HIGHER = "higher →"
SCORED_TOO_HIGH = "← scored too high"
SCORED_TOO_LOW = "scored too low →"

# Heat maps: titles.

MAP_OF_RATES = "how often people get {outcome}, by {features}{ends}"
MAP_OF_MEANS = "mean of {outcome}, by {features}{ends}"
MAP_OF_WRONG = "how often people are decided wrongly, by {features}{ends}"
MAP_OF_DENIED = "how often people are denied {outcome}, by {features}{ends}"
MAP_OF_GET_RIGHTLY = "how often people get it rightly, by {features}{ends}"
MAP_OF_GET_WRONGLY = "how often people get it wrongly, by {features}{ends}"
MAP_OF_DENIED_WRONGLY = "how often people are denied it wrongly, by {features}{ends}"
MAP_OF_GAPS = "how much people score too low on average, by {features}{ends}"
