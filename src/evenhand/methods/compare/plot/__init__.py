"""A comparison as drawings for a figure, and as a chart for a page."""

from evenhand.methods.compare.plot.display import LOOKS as LOOKS
from evenhand.methods.compare.plot.display import MOST_LABELS as MOST_LABELS
from evenhand.methods.compare.plot.display import SharesDisplay as SharesDisplay
from evenhand.methods.compare.plot.display import TradeoffDisplay as TradeoffDisplay
from evenhand.methods.compare.plot.display import display_of as display_of
from evenhand.methods.compare.plot.display import head as head
from evenhand.methods.compare.plot.display import span as span
from evenhand.methods.compare.plot.display import ticks as ticks
