// SPDX-License-Identifier: GPL-2.0
/*
 * Children of vfork() that exit at once, one after the other: something to sample.
 *
 *	vfork-exit CHILDREN
 *
 * main() calls outer(), which calls spawn(), whose child calls _exit(). spawn() has an array of
 * variable size, so it has a frame pointer. _exit() has none, so from there the frame pointers lead
 * to outer() and omit spawn().
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not known as noreturn, so that the return address is in spawn() and not behind its end. */
void leave(int status) __asm__("_exit");

__attribute__((noipa)) static int spawn(int size)
{
	char bytes[size];
	int status;
	pid_t pid = vfork();

	if (!pid)
		leave(0);
	bytes[0] = pid;
	waitpid(pid, &status, 0);
	return bytes[0] + status;
}

__attribute__((noipa)) static int outer(int size)
{
	return spawn(size) + 1;
}

int main(int argc, char **argv)
{
	int i, children = argc > 1 ? atoi(argv[1]) : 0;

	for (i = 0; i < children; i++)
		outer(40 + (i & 63));
	return 0;
}
