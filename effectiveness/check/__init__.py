"""Are tasks fit to measure with?"""
