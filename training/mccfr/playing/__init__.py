"""What was learned, played: against others, against somebody who knows it, thinking again; and what that is worth."""
