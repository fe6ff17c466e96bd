"""Adapters that drive real engines: finding one, handing it a job, reading what it did; and servers that run already.

An engine is never imported here: it runs in a process of its own, with its own Python. Knows nothing of plans or of
what is made of the figures.
"""
