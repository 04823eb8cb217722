"""Real pixels in terminals that can show them: which can, how pictures are encoded, and how many are sent."""
