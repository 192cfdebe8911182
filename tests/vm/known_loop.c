// SPDX-License-Identifier: MIT
/*
 * The guest's only program in a test of the counter: what lies between its marks is a number of
 * instructions that can be counted by hand. Needs no library.
 *
 *   mark 0, a million times two instructions and at most two more, mark 1,
 *   mark 2, a page that nobody has touched is read, mark 3
 */

char untouched[1 << 16] __attribute__((aligned(4096), used));

#if defined(__x86_64__)
#define MARK(value) ".byte 0x0f, 0x1f, 0x84, 0x00, " #value ", 0x00, 0x00, 0x50\n\t"
__attribute__((naked)) void _start(void)
{
	__asm__(MARK(0) "mov $1000000, %ecx\n\t"
			"1: dec %ecx\n\t"
			"jnz 1b\n\t" MARK(1) MARK(2) "movb untouched+8192(%rip), %al\n\t" MARK(
				3) "mov $231, %eax\n\t"
				   "xor %edi, %edi\n\t"
				   "syscall");
}
#else
#define MARK(value) "movz xzr, #" #value "\n\t"
__attribute__((naked)) void _start(void)
{
	__asm__("adrp x2, untouched + 8192\n\t" MARK(
		0) "movz w1, #16960\n\t"
		   "movk w1, #15, lsl #16\n\t"
		   "1: subs w1, w1, #1\n\t"
		   "b.ne 1b\n\t" MARK(1) MARK(2) "ldrb w3, [x2]\n\t" MARK(3) "mov x8, #94\n\t"
									     "mov x0, #0\n\t"
									     "svc #0");
}
#endif
