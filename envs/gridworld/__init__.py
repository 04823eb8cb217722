"""Grids on which several agents move at once, each seeing a square around itself: a treasure hunt and a stag hunt."""
