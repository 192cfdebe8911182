"""``./study advise``: which way of collecting costs least on this machine, or on a fleet.

Standard library only and Python 3.9: it runs where nothing of this project is set up.
"""
