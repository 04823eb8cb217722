"""The last steps of every environment, their replay, and recorded episodes."""
