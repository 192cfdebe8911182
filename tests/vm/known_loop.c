// SPDX-License-Identifier: MIT
/*
 * The guest's only program in a test of the counter: what lies between its marks is a number of
 * instructions that can be counted by hand. Needs no library.
 *
 *   mark 0, a million times two instructions and at most two more, mark 1,
 *   mark 2, a page that nobody has touched is read, mark 3,
 *   mark 4, on x86-64: 1,000 bytes of that page are set by one repeated instruction, mark 5
 */

char untouched[1 << 16] __attribute__((aligned(4096), used));

#if defined(__x86_64__)
#define MARK(value) ".byte 0x0f, 0x1f, 0x84, 0x00, " #value ", 0x00, 0x00, 0x50\n\t"
__attribute__((naked)) void _start(void)
{
	__asm__(MARK(0));
	__asm__("mov $1000000, %ecx");
	__asm__("1: dec %ecx");
	__asm__("jnz 1b");
	__asm__(MARK(1));
	__asm__(MARK(2));
	__asm__("movb untouched+8192(%rip), %al");
	__asm__(MARK(3));
	__asm__("lea untouched+8192(%rip), %rdi");
	__asm__("rep stosb"); /* none, for ecx is 0; the next ones may write without a fault */
	__asm__("movb %al, (%rdi)");
	__asm__("mov $1000, %ecx");
	__asm__(MARK(4));
	__asm__("rep stosb");
	__asm__(MARK(5));
	__asm__("mov $231, %eax");
	__asm__("xor %edi, %edi");
	__asm__("syscall");
}
#else
#define MARK(value) "movz xzr, #" #value
__attribute__((naked)) void _start(void)
{
	__asm__("adrp x2, untouched + 8192");
	__asm__(MARK(0));
	__asm__("movz w1, #16960");
	__asm__("movk w1, #15, lsl #16");
	__asm__("1: subs w1, w1, #1");
	__asm__("b.ne 1b");
	__asm__(MARK(1));
	__asm__(MARK(2));
	__asm__("ldrb w3, [x2]");
	__asm__(MARK(3));
	__asm__(MARK(4));
	__asm__(MARK(5));
	__asm__("mov x8, #94");
	__asm__("mov x0, #0");
	__asm__("svc #0");
}
#endif
