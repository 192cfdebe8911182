// SPDX-License-Identifier: MIT
/*
 * exec_step LEFT PAUSE_US: sleeps, executes itself with LEFT - 1, and ends at 0. Static and without
 * a C library, so that hardly anything but the execution itself is measured.
 */
#include <asm/unistd.h>
#include <linux/time_types.h>

/* the kernel enters with the stack pointer at argc, argv[0], argv[1], ... */
#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start: xor %ebp, %ebp\n"
	"mov %rsp, %rdi\n"
	"and $-16, %rsp\n"
	"call step\n");

static long call(long number, const void *first, const void *second, const void *third)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start: mov x29, #0\n"
	"mov x0, sp\n"
	"bl step\n");

static long call(long number, const void *first, const void *second, const void *third)
{
	register long x8 __asm__("x8") = number;
	register const void *x0 __asm__("x0") = first;
	register const void *x1 __asm__("x1") = second;
	register const void *x2 __asm__("x2") = third;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return (long)x0;
}
#else
#error "exec_step knows x86-64 and aarch64"
#endif

static long number(const char *text)
{
	long value = 0;

	while (*text)
		value = value * 10 + *text++ - '0';
	return value;
}

/* Subtracts 1 from a decimal number above 0, in place: "100" becomes "099". */
static void count_down(char *text)
{
	char *digit = text;

	while (digit[1])
		digit++;
	for (; *digit == '0'; digit--)
		*digit = '9';
	--*digit;
}

__attribute__((noreturn, used)) void step(long *stack)
{
	char **words = (char **)(stack + 1);
	long status = 1;

	if (*stack == 3) {
		long pause_ns = number(words[2]) * 1000;
		struct __kernel_timespec pause = {0, pause_ns};

		status = 0;
		if (number(words[1])) {
			static char *const nothing[] = {0};

			if (pause_ns)
				call(__NR_nanosleep, &pause, 0, 0);
			count_down(words[1]);
			call(__NR_execve, words[0], words, nothing);
			status = 1;
		}
	}
	for (;;)
		call(__NR_exit, (void *)status, 0, 0);
}
