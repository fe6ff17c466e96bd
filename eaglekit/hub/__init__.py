"""Publishing: what may leave this machine, what is there already, one locked commit, and a look at every byte after it.

Must never know torch, compute a figure, or send anything that the plan did not show.
"""
