"""One live training: how it is started, watched, commanded and resized. Read `session` and `environments` first."""
