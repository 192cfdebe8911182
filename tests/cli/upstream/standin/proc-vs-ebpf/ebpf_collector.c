/* Made for the test: a collector that does not start. */
#include "common.h"

int main(int argc, char **argv)
{
	interval_us(argc, argv);
	fprintf(stderr, "load failed: made for the test\nand more\n");
	return 1;
}
