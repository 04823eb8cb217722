"""The bottle game: capsules fall, four of a color in a line vanish, and the viruses have to go.

The rules are those of the NES game of 1990, frame by frame; the names, colors and shapes are our own.
"""
