"""The app: its state, its parts around the views, and what keys do."""
