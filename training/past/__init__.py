"""The past of a training: what was kept of every environment's last steps, played again; recorded episodes."""
