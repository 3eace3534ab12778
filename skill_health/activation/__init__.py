"""Does a real agent load the skill on a real request, and not on a near miss?"""
