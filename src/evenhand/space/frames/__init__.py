"""Frames in and out: features inferred from any dataframe, and native frames built from codes."""
