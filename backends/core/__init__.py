"""The buffer, and the stepping of environments in the same process."""
