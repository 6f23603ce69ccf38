// SPDX-License-Identifier: GPL-2.0
/*
 * Code and tables that change in place: a walk must not use rules of the old
 * contents.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_image.h"
#include "eh_walk.h"
#include "pd_test.h"

static struct eh_image small, large;

/* Tests map a whole file at once. The result must be as if the dynamic linker had loaded it. */
static int read_flat_images(void)
{
	const Elf64_Ehdr *elf = (void *)small.bytes;
	const Elf64_Phdr *ph;
	int i;

	PD_TRY(eh_read_images(&small, &large));
	ph = (void *)(small.bytes + elf->e_phoff);
	for (i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && !(ph[i].p_flags & PF_W) &&
		    ph[i].p_vaddr != ph[i].p_offset)
			return pd_skip("the object cannot be mapped in one piece");
	return 0;
}

static size_t file_span(void)
{
	return eh_whole_pages(small.size > large.size ? small.size : large.size);
}

/* Walk twice: with unknown and with cached rules. */
static int walk_at(struct pd_event *event, char *at)
{
	char *function = at + small.step;
	eh_step step, steps[] = { eh_pushes, NULL, eh_plain, NULL, eh_leaf };
	static struct eh_walk walk;

	memcpy(&step, &function, sizeof(step));
	steps[1] = step;
	steps[3] = step;
	PD_TRY(eh_run_and_check(event, &walk, steps));
	return eh_run_and_check(event, &walk, steps);
}

static int protect_image(char *at, int prot)
{
	PD_CHECK(!mprotect(at, file_span(), prot), "mprotect: %s", strerror(errno));
	return 0;
}

static int rewrite_image(char *at, const struct eh_image *image, bool by_way_of_none)
{
	if (by_way_of_none)
		PD_TRY(protect_image(at, PROT_NONE));
	PD_TRY(protect_image(at, PROT_READ | PROT_WRITE));
	memcpy(at, image->bytes, image->size);
	return protect_image(at, PROT_READ | PROT_EXEC);
}

static int walk_rewritten(char *at, bool by_way_of_none)
{
	unsigned long round, rounds = pd_scale(20);
	struct pd_event event;

	PD_CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(eh_open(&event));
	for (round = 0; round < rounds; round++) {
		PD_TRY(rewrite_image(at, &small, by_way_of_none));
		PD_TRY(walk_at(&event, at));
		PD_TRY(rewrite_image(at, &large, by_way_of_none));
		PD_TRY(walk_at(&event, at));
	}
	return PD_PASS;
}

static char *map_anonymous(int prot)
{
	return mmap(NULL, file_span(), prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int anonymous(void)
{
	PD_TRY(read_flat_images());
	return walk_rewritten(map_anonymous(PROT_NONE), false);
}

static int anonymous_by_way_of_none(void)
{
	PD_TRY(read_flat_images());
	return walk_rewritten(map_anonymous(PROT_NONE), true);
}

/*
 * Map twice the size of an image, and use only the lower half. When the lower half gets the
 * protection of the upper half, the kernel merges both into one mapping, and another change splits
 * them again.
 */
static char *map_below(int prot)
{
	return mmap(NULL, 2 * file_span(), prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int merges_with_writable(void)
{
	PD_TRY(read_flat_images());
	return walk_rewritten(map_below(PROT_READ | PROT_WRITE), false);
}

static int merges_with_none(void)
{
	PD_TRY(read_flat_images());
	return walk_rewritten(map_below(PROT_NONE), true);
}

static char *map_file(const struct eh_image *image)
{
	return mmap(NULL, file_span(), PROT_READ | PROT_EXEC, MAP_PRIVATE, image->fd, 0);
}

static int private_file(void)
{
	PD_TRY(read_flat_images());
	return walk_rewritten(map_file(&small), false);
}

/* The mapping is writable all the time. */
static int while_writable(char *at)
{
	unsigned long round, rounds = pd_scale(20);
	struct pd_event event;

	PD_CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(eh_open(&event));
	PD_TRY(protect_image(at, PROT_READ | PROT_WRITE | PROT_EXEC));
	for (round = 0; round < rounds; round++) {
		memcpy(at, small.bytes, small.size);
		PD_TRY(walk_at(&event, at));
		memcpy(at, large.bytes, large.size);
		PD_TRY(walk_at(&event, at));
	}
	return PD_PASS;
}

static int writable_anonymous(void)
{
	PD_TRY(read_flat_images());
	return while_writable(map_anonymous(PROT_NONE));
}

static int writable_file(void)
{
	PD_TRY(read_flat_images());
	return while_writable(map_file(&small));
}

/* Write to the text despite its protection, as a debugger does. */
static int write_text(char *at, const struct eh_image *image, size_t text)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ssize_t page = getpagesize();

	PD_CHECK(pwrite(fd, image->bytes + text, page, (off_t)(at + text)) == page,
		 "/proc/self/mem: %s", strerror(errno));
	close(fd);
	return 0;
}

/* All mappings but the text are writable all the time. */
static int writable_tables(void)
{
	size_t page = getpagesize(), text, tables;
	struct pd_event event;
	char *at;

	PD_TRY(read_flat_images());
	text = small.step & ~(page - 1);
	tables = text + page;
	at = map_file(&small);
	PD_CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(eh_open(&event));
	PD_TRY(protect_image(at, PROT_READ | PROT_WRITE));
	PD_CHECK(!mprotect(at + text, page, PROT_READ | PROT_EXEC), "mprotect: %s",
		 strerror(errno));
	PD_TRY(walk_at(&event, at));
	memcpy(at + tables, large.bytes + tables, large.size - tables);
	PD_TRY(write_text(at, &large, text));
	return walk_at(&event, at);
}

/* mremap() moves the modified pages away, so the old address has the contents of the file again. */
static int moved_and_left(void)
{
	unsigned long round, rounds = pd_scale(20);
	struct pd_event event;
	char *at, *moved;

	PD_TRY(read_flat_images());
	PD_TRY(eh_open(&event));
	for (round = 0; round < rounds; round++) {
		at = map_file(&small);
		PD_CHECK(at != MAP_FAILED, "mmap: %s", strerror(errno));
		PD_TRY(rewrite_image(at, &large, false));
		PD_TRY(walk_at(&event, at));
		moved = mremap(at, file_span(), file_span(), MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
			       NULL);
		PD_CHECK(moved != MAP_FAILED, "mremap: %s", strerror(errno));
		PD_TRY(walk_at(&event, at));
		PD_TRY(walk_at(&event, moved));
		munmap(at, file_span());
		munmap(moved, file_span());
	}
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(anonymous),
	PD_TEST(anonymous_by_way_of_none),
	PD_TEST(merges_with_writable),
	PD_TEST(merges_with_none),
	PD_TEST(private_file),
	PD_TEST(writable_anonymous),
	PD_TEST(writable_file),
	PD_TEST(writable_tables),
	PD_TEST(moved_and_left),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);
