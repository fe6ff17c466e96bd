"""Knows how a drafter is judged: structure, then numbers, then behaviour, and the report that binds to what was judged.

Must never know a spelling, write a checkpoint, or print. Structure runs without torch.
"""
