"""Hold'em's cards: what hands are worth, which are the same up to suits, and which are alike."""
