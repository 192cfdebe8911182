"""A monitor of each CPU's activity against the tools of the terminal: study `cores`.

own         what `perf stat` counts of a tool's own processes from its start on: the source's method
accuracy    what each tool says of CPUs whose activity is known
threads     cost against the threads that press the scheduler
"""
