"""The cards of hold'em: strength of hands, isomorphism of suits, and buckets of similar hands."""
