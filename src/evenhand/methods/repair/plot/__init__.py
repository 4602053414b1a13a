"""A repair as drawings for a figure, and as charts for a page."""

from evenhand.methods.repair.plot.display import HEADINGS as HEADINGS
from evenhand.methods.repair.plot.display import RepairDisplay as RepairDisplay
from evenhand.methods.repair.plot.display import ScorePanel as ScorePanel
from evenhand.methods.repair.plot.display import display_of as display_of
