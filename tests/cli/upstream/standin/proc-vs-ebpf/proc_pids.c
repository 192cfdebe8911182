/* Made for the test: lists /proc at each interval. */
#include <dirent.h>

#include "common.h"

int main(int argc, char **argv)
{
	unsigned long us = interval_us(argc, argv);

	while (!ended) {
		DIR *proc;

		usleep(us);
		proc = opendir("/proc");
		while (proc && readdir(proc))
			;
		if (proc)
			closedir(proc);
	}
	return 0;
}
