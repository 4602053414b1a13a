"""What a search found as drawings for a figure, and as charts for a page."""

from evenhand.methods.search.plot.display import MOST_BARS as MOST_BARS
from evenhand.methods.search.plot.display import MOST_SEARCHES as MOST_SEARCHES
from evenhand.methods.search.plot.display import OutcomeMap as OutcomeMap
from evenhand.methods.search.plot.display import ProgressCurve as ProgressCurve
from evenhand.methods.search.plot.display import SearchDisplay as SearchDisplay
from evenhand.methods.search.plot.display import ShareBars as ShareBars
from evenhand.methods.search.plot.display import display_of as display_of
from evenhand.methods.search.plot.display import panels_of as panels_of
