"""Plan and run overhead trials. Never imports ``analysis``.

Everything the runner needs uses the standard library only, so that the same code runs under
``python3 -I -S``; only :mod:`experiment.plan` and :mod:`experiment.arms` may import more.
"""
