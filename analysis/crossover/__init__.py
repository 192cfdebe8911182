"""The crossover study: what each collector costs as a function of the machine, and where two meet.

conditions    under which each window was measured
warmth        the share of scrapes and switches that finds the machine cold
half_cold     at which rate that is one in two, and what a hook adds when warm and when cold
calibration   added ns per context switch against the rate of switches
cells         rows -> one cost per arm, design point and block
model         cost = (fixed + per process + per thread + per active task) / interval + per switch
region        what was measured, and which conditions together
break_even    the rate of context switches at which two collectors cost the same
verdicts      which of two is dearer at each measured point
fleet         what a fleet of nodes saves, by density, rate and interval
outcome       all of it of one run, once
advice        the fitted models as the file that `./study advise` reads
"""
