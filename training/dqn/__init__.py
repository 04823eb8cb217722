"""DQN: value-based learning from a replay."""
