// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pd_chain.h"
#include "pd_stack.h"

void pd_chain_lay(char *memory, unsigned int name, unsigned int frames)
{
	size_t page = getpagesize();
	unsigned int i;

	for (i = 0; i < frames; i++) {
		struct pd_frame *frame = (struct pd_frame *)(memory + i * page);

		frame->next = i + 1 < frames ? (unsigned long)frame + page : 0;
		frame->ip = pd_name_address(name);
	}
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done <= 0)
			return -1;
		data += done;
		size -= done;
	}
	return fsync(fd);
}

/*
 * Open the file again, read-only, delete it, and drop its pages from the page cache, so that the
 * first access to each page of a mapping reads the file.
 */
static int reopen_cold(int fd, const char *path)
{
	close(fd);
	fd = open(path, O_RDONLY);
	unlink(path);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

char *pd_chain_map_file(unsigned int name, unsigned int frames)
{
	size_t size = (size_t)frames * getpagesize();
	char path[] = "chain.XXXXXX", *memory;
	int fd = mkstemp(path);

	if (fd < 0)
		return NULL;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	pd_chain_lay(memory, name, frames);
	if (write_all(fd, memory, size))
		return NULL;
	fd = reopen_cold(fd, path);
	memory = mmap(memory, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}
