"""Figures of a run, drawn from rows that are written beside them."""
