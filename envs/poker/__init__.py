"""Games of cards and dice for two whose betting is known ahead: Kuhn, Leduc, liar's dice, hold'em."""
