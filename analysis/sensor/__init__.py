"""A security sensor: what each hook and each of its three optimisations costs. Study `sensor`.

costs       per event of a load: in the task that makes it, in the sensor's own process; losses
hooks       each hook alone, each left out of the nine, and what is left over
factorial   where files are filtered, which buffer, bytes by event or summed up: 2 x 2 x 2
trie        cost against the number of prefixes
ratios      the declared pairs, cost against cost and events against events
"""
