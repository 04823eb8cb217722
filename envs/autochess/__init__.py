"""The auto-battler: eight players buy creatures from one pool, and their teams fight by themselves.

The rules follow Pokemon Auto Chess (upstream 6.2) in their numbers; creatures, names, kinds and items are our own.
"""
