/* Made for the test: reads a file at each interval. */
#include "common.h"

int main(int argc, char **argv)
{
	unsigned long us = interval_us(argc, argv);

	while (!ended) {
		FILE *file;
		char text[4096];

		usleep(us);
		file = fopen("/proc/stat", "r");
		while (file && fgets(text, sizeof(text), file))
			;
		if (file)
			fclose(file);
	}
	return 0;
}
