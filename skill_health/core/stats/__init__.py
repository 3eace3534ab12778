"""Statistics of repeated, clustered measurements: the only modules that import numpy or scipy.

Everywhere "cluster" is what is independent (a prompt, a family of paraphrases, a task); calls, replications and models
of one cluster are carried along with it. What cannot be estimated is None with a note, never a guess.
"""
