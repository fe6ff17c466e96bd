"""Knows what a drafter computes, in plain PyTorch: the definition of EAGLE-3 and 3.1, by roles.

Must never know how a checkpoint spells a role, which engine serves it, or what its numbers are worth.
"""
