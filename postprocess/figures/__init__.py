"""Figures: each module's `draw` takes rows or variants and returns a Matplotlib figure."""
