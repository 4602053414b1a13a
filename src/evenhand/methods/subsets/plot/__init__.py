"""The lattice of sets as a drawing for a figure, and as a chart for a page."""

from evenhand.methods.subsets.plot.display import LOOKS as LOOKS
from evenhand.methods.subsets.plot.display import LatticeDisplay as LatticeDisplay
from evenhand.methods.subsets.plot.display import bar_widths as bar_widths
from evenhand.methods.subsets.plot.display import display_of as display_of
from evenhand.methods.subsets.plot.display import short_names as short_names
