/* SPDX-License-Identifier: MIT */
#ifndef PROBETAX_DESCRIPTORS_H
#define PROBETAX_DESCRIPTORS_H

/* Raises the limit of open files to the hard one; how many may be kept open, some left to spare. */
long long descriptors_to_keep(void);

#endif
