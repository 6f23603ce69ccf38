// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eh_image.h"
#include "pd_proc.h"
#include "pd_test.h"

static int read_image(struct eh_image *image, const char *name)
{
	const Elf64_Ehdr *elf = (void *)image->bytes;
	const Elf64_Phdr *ph;
	Dl_info info;
	void *handle;
	int i;

	image->fd = open(pd_beside(name), O_RDONLY | O_CLOEXEC);
	PD_CHECK(image->fd >= 0, "%s: %s", name, strerror(errno));
	image->size = read(image->fd, image->bytes, EH_MAX_IMAGE);
	PD_CHECK(image->size > sizeof(*elf) && image->size < EH_MAX_IMAGE, "%s cannot be read",
		 name);
	ph = (void *)(image->bytes + elf->e_phoff);
	for (i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > image->span)
			image->span = ph[i].p_vaddr + ph[i].p_memsz;
	handle = dlopen(pd_beside(name), RTLD_NOW);
	PD_CHECK(handle && dladdr(dlsym(handle, "eh_object_step"), &info), "%s", dlerror());
	image->step = (char *)info.dli_saddr - (char *)info.dli_fbase;
	dlclose(handle);
	return 0;
}

int eh_read_images(struct eh_image *small, struct eh_image *large)
{
	PD_TRY(read_image(small, EH_SMALL));
	PD_TRY(read_image(large, EH_LARGE));
	PD_CHECK(small->step == large->step, "the functions are not at the same offset");
	return 0;
}

size_t eh_whole_pages(size_t bytes)
{
	size_t page = getpagesize();

	return (bytes + page - 1) & ~(page - 1);
}

int eh_write_image(const char *path, const struct eh_image *image)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	PD_CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	PD_CHECK(pwrite(fd, image->bytes, image->size, 0) == (ssize_t)image->size, "write: %s",
		 strerror(errno));
	close(fd);
	return 0;
}

int eh_map_image(const char *path, size_t size, char **at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	PD_CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	*at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	PD_CHECK(*at != MAP_FAILED, "mmap: %s", strerror(errno));
	return 0;
}
