"""One live training, and how it is started, watched, commanded and resized: read `session`, then `live` and `gate`."""
