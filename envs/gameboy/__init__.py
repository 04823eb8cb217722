"""The Game Boy (DMG) as an environment: an emulator of compiled kernels, and two cartridges of our own."""
