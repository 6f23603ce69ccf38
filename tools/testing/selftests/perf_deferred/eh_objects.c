// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that are loaded, unloaded, changed and moved, or have wrong tables:
 * stacks through them are right as long as the tables are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh_code.h"
#include "eh_image.h"
#include "eh_walk.h"
#include "pd_probe.h"
#include "pd_proc.h"
#include "pd_stack.h"
#include "pd_test.h"

static struct eh_image small, large;

static eh_step step_of(void *handle)
{
	void *symbol = dlsym(handle, "eh_object_step");
	eh_step step;

	memcpy(&step, &symbol, sizeof(step));
	return step;
}

/* Walk through the object and code of this program. */
static int walk_through(struct pd_event *event, struct eh_walk *walk, eh_step step)
{
	const eh_step steps[] = { eh_pushes, step, eh_plain, step, eh_leaf };

	PD_CHECK(step, "the object has no function");
	return eh_run_and_check(event, walk, steps);
}

static int walk_opened(struct pd_event *event, struct eh_walk *walk, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int ret;

	PD_CHECK(handle, "%s", dlerror());
	ret = walk_through(event, walk, step_of(handle));
	dlclose(handle);
	return ret;
}

/* In a packed object, a second copy of the header is mapped in front of the code. */
static int packed(void)
{
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	return walk_opened(&event, &walk, pd_beside(EH_PACKED));
}

static int dlclose_and_another(void)
{
	unsigned long round, rounds = pd_scale(50), same = 0;
	static struct eh_walk walk;
	struct pd_event event;

	PD_TRY(eh_open(&event));
	for (round = 0; round < rounds; round++) {
		unsigned long ra;

		PD_TRY(walk_opened(&event, &walk, pd_beside(EH_SMALL)));
		ra = walk.ra[2];
		PD_TRY(walk_opened(&event, &walk, pd_beside(EH_LARGE)));
		same += ra == walk.ra[2];
	}
	pd_note("%lu of %lu at the same address", same, rounds);
	PD_CHECK(same, "the objects were never loaded to the same address");
	return PD_PASS;
}

/* Map the segments of the object. It needs no relocations. */
static int map_image(const struct eh_image *image, char *to)
{
	const Elf64_Ehdr *elf = (void *)image->bytes;
	const Elf64_Phdr *ph = (void *)(image->bytes + elf->e_phoff);
	size_t page = getpagesize();
	int i;

	for (i = 0; i < elf->e_phnum; i++) {
		size_t skip = ph[i].p_vaddr & (page - 1);
		int prot = (ph[i].p_flags & PF_R ? PROT_READ : 0) |
			   (ph[i].p_flags & PF_W ? PROT_WRITE : 0) |
			   (ph[i].p_flags & PF_X ? PROT_EXEC : 0);

		if (ph[i].p_type == PT_LOAD &&
		    mmap(to + ph[i].p_vaddr - skip, ph[i].p_memsz + skip, prot,
			 MAP_PRIVATE | MAP_FIXED, image->fd, ph[i].p_offset - skip) == MAP_FAILED)
			return pd_fail("mmap: %s", strerror(errno));
	}
	return 0;
}

static char *reserve_span(void)
{
	size_t span = eh_whole_pages(small.span > large.span ? small.span : large.span);
	char *at = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int map_and_walk(struct pd_event *event, struct eh_walk *walk, char *at)
{
	char *function = at + small.step;
	eh_step step;

	memcpy(&step, &function, sizeof(step));
	PD_TRY(map_image(&small, at));
	PD_TRY(walk_through(event, walk, step));
	PD_TRY(map_image(&large, at));
	return walk_through(event, walk, step);
}

/* Map one image over the other, without an unmap in between. */
static int mapped_over(void)
{
	unsigned long round, rounds = pd_scale(50);
	static struct eh_walk walk;
	struct pd_event event;
	char *at;

	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	at = reserve_span();
	PD_CHECK(at, "mmap: %s", strerror(errno));
	for (round = 0; round < rounds; round++)
		PD_TRY(map_and_walk(&event, &walk, at));
	return PD_PASS;
}

/* Move a copy of the image over the mapping at @at, by mremap(). */
static int move_image(const struct eh_image *image, char *at)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	const int how = MAP_PRIVATE | MAP_ANONYMOUS;
	size_t span = eh_whole_pages(image->span);
	char *image_at = mmap(NULL, span, all, how, -1, 0);
	char *copy = mmap(NULL, span, all, how, -1, 0);

	PD_CHECK(image_at != MAP_FAILED && copy != MAP_FAILED, "mmap: %s", strerror(errno));
	PD_TRY(map_image(image, image_at));
	memcpy(copy, image_at, span);
	munmap(image_at, span);
	PD_CHECK(mremap(copy, span, span, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at,
		 "mremap: %s", strerror(errno));
	return 0;
}

static int moved_over(void)
{
	unsigned long round, rounds = pd_scale(50);
	static struct eh_walk walk;
	struct pd_event event;
	char *at, *function;
	eh_step step;

	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	at = reserve_span();
	PD_CHECK(at, "mmap: %s", strerror(errno));
	function = at + small.step;
	memcpy(&step, &function, sizeof(step));
	for (round = 0; round < rounds; round++) {
		PD_TRY(move_image(&small, at));
		PD_TRY(walk_through(&event, &walk, step));
		PD_TRY(move_image(&large, at));
		PD_TRY(walk_through(&event, &walk, step));
	}
	return PD_PASS;
}

/* Dropping caches frees the rules, as a shortage of memory does. Later walks must be right, too. */
static int caches_dropped(void)
{
	unsigned long round, rounds = pd_scale(20);
	static struct eh_walk walk;
	struct pd_event event;
	void *handle;

	PD_TRY(eh_open(&event));
	handle = dlopen(pd_beside(EH_LARGE), RTLD_NOW);
	PD_CHECK(handle, "%s", dlerror());
	for (round = 0; round < rounds; round++) {
		PD_TRY(walk_through(&event, &walk, step_of(handle)));
		PD_CHECK(!pd_write_str("/proc/sys/vm/drop_caches", "2"), "drop_caches failed");
		PD_TRY(walk_through(&event, &walk, step_of(handle)));
	}
	return PD_PASS;
}

/*
 * Threads with made-up stacks that contain a frame of the object, while its mappings
 * change. The threads do not run the object's code, but their walks cache its rules.
 */
#define WATCHERS 2

struct watcher {
	pthread_t thread;
	pid_t tid;
	struct pd_event event;
	unsigned long stack[512];
};

static int watching = 1;

static void *watch_stack(void *arg)
{
	struct watcher *self = arg;

	PD_WRITE(self->tid, syscall(SYS_gettid));
	while (PD_READ(watching))
		pd_getppid_on(self->stack, self->stack);
	return NULL;
}

static int start_watcher(struct watcher *watcher, unsigned long ra)
{
	struct perf_event_attr attr;

	/* the saved frame pointer is 0, then comes @ra; the rest of the stack is 0 */
	watcher->stack[1] = ra;
	PD_CHECK(!pthread_create(&watcher->thread, NULL, watch_stack, watcher), "no thread");
	while (!PD_READ(watcher->tid))
		pd_sleep_ms(1);
	PD_TRY(eh_attr(&attr));
	PD_TRY(pd_must_open(&watcher->event, &attr, watcher->tid, -1));
	pd_enable(&watcher->event);
	return 0;
}

/* Count the records whose second frame is the one in the object. */
static size_t count_in_object(struct watcher *watcher)
{
	const struct pd_rec *record = NULL;
	struct pd_log log = {};
	size_t nr = 0;

	pd_drain(&watcher->event, &log);
	while (pd_log_next(&log, PD_RECORD_DEFERRED, &record))
		nr += record->nr_user >= 2 && record->user[1] == watcher->stack[1];
	pd_log_free(&log);
	return nr;
}

static int mapped_over_while_walked(void)
{
	static struct watcher watchers[WATCHERS];
	static struct eh_walk walk;
	struct pd_event event;
	size_t rounds, seen = 0;
	char *at = NULL;
	long long end;
	int i, ret = 0;

	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	at = reserve_span();
	PD_CHECK(at, "mmap: %s", strerror(errno));
	PD_TRY(map_and_walk(&event, &walk, at));
	for (i = 0; i < WATCHERS; i++)
		PD_TRY(start_watcher(&watchers[i], walk.ra[2]));
	end = pd_now_ns() + pd_scale(3000) * 1000000LL;
	for (rounds = 0; !ret && pd_now_ns() < end; rounds++) {
		ret = map_and_walk(&event, &walk, at);
		for (i = 0; i < WATCHERS; i++)
			seen += count_in_object(&watchers[i]);
	}
	PD_WRITE(watching, 0);
	for (i = 0; i < WATCHERS; i++)
		pthread_join(watchers[i].thread, NULL);
	pd_note("%zu rounds, %zu stacks of other threads", rounds, seen);
	PD_CHECK(ret || seen > rounds, "too few");
	return ret;
}

static int from_memfd(void)
{
	static struct eh_walk walk;
	struct pd_event event;
	char path[64];
	int fd;

	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	fd = memfd_create("object", MFD_CLOEXEC);
	PD_CHECK(fd >= 0, "memfd_create: %s", strerror(errno));
	PD_CHECK(write(fd, large.bytes, large.size) == (ssize_t)large.size, "a short write");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return walk_opened(&event, &walk, path);
}

static int from_deleted_file(void)
{
	char path[] = "/tmp/eh_object.XXXXXX";
	static struct eh_walk walk;
	struct pd_event event;
	void *handle;
	int fd;

	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	fd = mkstemp(path);
	PD_CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	PD_CHECK(write(fd, large.bytes, large.size) == (ssize_t)large.size, "a short write");
	handle = dlopen(path, RTLD_NOW);
	unlink(path);
	close(fd);
	PD_CHECK(handle, "%s", dlerror());
	return walk_through(&event, &walk, step_of(handle));
}

/* .eh_frame_hdr as linkers write it */
struct hdr {
	unsigned char version, frame_enc, count_enc, table_enc;
	int frame;
	unsigned int nr;
	struct hdr_row {
		int ip, fde;
	} rows[];
};

/* A header without a table, as GNU ld writes it if it cannot parse an input's .eh_frame. */
static void leave_no_table(Elf64_Phdr *ph, struct hdr *hdr)
{
	hdr->count_enc = 0xff;
	hdr->table_enc = 0xff;
	ph->p_filesz = 8;
	ph->p_memsz = 8;
}

static void omit_count(Elf64_Phdr *ph, struct hdr *hdr)
{
	(void)ph;
	hdr->count_enc = 0xff;
}

static void count_none(Elf64_Phdr *ph, struct hdr *hdr)
{
	(void)ph;
	hdr->nr = 0;
}

static void count_too_many(Elf64_Phdr *ph, struct hdr *hdr)
{
	(void)ph;
	hdr->nr *= 1000;
}

/* Rows of eight-byte values, as linkers write them for very large objects. */
static void encode_table(Elf64_Phdr *ph, struct hdr *hdr)
{
	(void)ph;
	hdr->table_enc = 0x3c;
}

/* Then only the section headers tell where .eh_frame is. */
static void encode_pointer(Elf64_Phdr *ph, struct hdr *hdr)
{
	hdr->frame_enc = 0x1c;
	leave_no_table(ph, hdr);
}

static void reverse_rows(Elf64_Phdr *ph, struct hdr *hdr)
{
	unsigned int i;

	(void)ph;
	for (i = 0; i < hdr->nr / 2; i++) {
		struct hdr_row row = hdr->rows[i];

		hdr->rows[i] = hdr->rows[hdr->nr - 1 - i];
		hdr->rows[hdr->nr - 1 - i] = row;
	}
}

/* Only neighbours are out of order. */
static void swap_pairs(Elf64_Phdr *ph, struct hdr *hdr)
{
	unsigned int i;

	(void)ph;
	for (i = 0; i + 1 < hdr->nr; i += 2) {
		struct hdr_row row = hdr->rows[i];

		hdr->rows[i] = hdr->rows[i + 1];
		hdr->rows[i + 1] = row;
	}
}

/* Only the last quarter is out of order, as if its rows had been appended. */
static void rotate_rows(Elf64_Phdr *ph, struct hdr *hdr)
{
	unsigned int i, k;

	(void)ph;
	for (k = 0; k < hdr->nr / 4; k++) {
		struct hdr_row row = hdr->rows[0];

		for (i = 0; i + 1 < hdr->nr; i++)
			hdr->rows[i] = hdr->rows[i + 1];
		hdr->rows[i] = row;
	}
}

/* the fields of an FDE before its instructions */
struct fde {
	unsigned int len, cie;
	int start;
	unsigned int size;
};

/* Move a row behind another one. */
static void move_row(struct hdr_row *rows, unsigned int from, unsigned int behind)
{
	struct hdr_row row = rows[from];

	for (; from < behind; from++)
		rows[from] = rows[from + 1];
	for (; from > behind + 1; from--)
		rows[from] = rows[from - 1];
	rows[from] = row;
}

static struct fde *fde_of(struct hdr *hdr, unsigned int row)
{
	return (void *)((char *)hdr + hdr->rows[row].fde);
}

/*
 * Let the unused function be an empty one at the address of eh_object_step().  With two rows for
 * this address, as mold writes them, the binary search leads to the empty function.  The code of
 * the function tells the caller, too.
 */
static void add_empty(Elf64_Phdr *ph, struct hdr *hdr)
{
	unsigned int i, unused = hdr->nr, step = hdr->nr;
	struct fde *empty;

	for (i = 0; i < hdr->nr; i++) {
		if (fde_of(hdr, i)->size == EH_UNUSED_BYTES)
			unused = i;
		if (hdr->rows[i].ip == (int)(large.step - ph->p_vaddr))
			step = i;
	}
	if (unused == hdr->nr || step == hdr->nr)
		abort();
	empty = fde_of(hdr, unused);
	empty->size = 0;
	empty->start = fde_of(hdr, step)->start + (char *)fde_of(hdr, step) - (char *)empty;
	hdr->rows[unused].ip = hdr->rows[step].ip;
	move_row(hdr->rows, unused, step);
}

/* As lld writes them: the function itself has no row.  Its code tells the caller, too. */
static void hide_function(Elf64_Phdr *ph, struct hdr *hdr)
{
	unsigned int i;

	add_empty(ph, hdr);
	for (i = 0; i + 1 < hdr->nr; i++)
		if (hdr->rows[i].ip == hdr->rows[i + 1].ip)
			hdr->rows[i].fde = hdr->rows[i + 1].fde;
}

struct hdr_case {
	const char *name;
	void (*change)(Elf64_Phdr *ph, struct hdr *hdr);
	bool no_sections;
};

static const struct hdr_case hdr_cases[] = {
	{ "no table", leave_no_table, false },
	{ "no table and no section headers", leave_no_table, true },
	{ "count omitted", omit_count, false },
	{ "count of 0", count_none, false },
	{ "count too large", count_too_many, false },
	{ "rows of another encoding", encode_table, false },
	{ "pointer of another encoding", encode_pointer, false },
	{ "rows in reverse order", reverse_rows, false },
	{ "rows in pairs of reverse order", swap_pairs, false },
	{ "rows appended out of order", rotate_rows, false },
};

static const struct hdr_case empty_cases[] = {
	{ "rows of an empty function and of a real one", add_empty, false },
	{ "only the row of an empty function", hide_function, false },
};

static int change_hdr(const struct hdr_case *how, struct eh_image *image)
{
	Elf64_Ehdr *elf = (void *)image->bytes;
	Elf64_Phdr *ph = (void *)(image->bytes + elf->e_phoff);
	int i;

	for (i = 0; i < elf->e_phnum && ph[i].p_type != PT_GNU_EH_FRAME; i++)
		;
	PD_CHECK(i < elf->e_phnum, "the object has no .eh_frame_hdr");
	how->change(&ph[i], (void *)(image->bytes + ph[i].p_offset));
	if (how->no_sections)
		elf->e_shoff = 0;
	return 0;
}

/* Rules of a file are shared by processes; those of a memfd are only for one process. */
static int write_object(const struct eh_image *image, bool shared, char *path, size_t size)
{
	int fd;

	snprintf(path, size, "/tmp/eh_object.XXXXXX");
	fd = shared ? mkstemp(path) : memfd_create("object", MFD_CLOEXEC);
	PD_CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	PD_CHECK(write(fd, image->bytes, image->size) == (ssize_t)image->size, "a short write");
	if (shared)
		close(fd);
	else
		snprintf(path, size, "/proc/self/fd/%d", fd);
	return 0;
}

static int walk_changed_hdr(const struct hdr_case *how, bool shared)
{
	static struct eh_image image;
	static struct eh_walk walk;
	struct pd_event event;
	char path[64];
	void *handle;
	eh_step step;

	PD_TRY(eh_open(&event));
	image = large;
	PD_TRY(change_hdr(how, &image));
	PD_TRY(write_object(&image, shared, path, sizeof(path)));
	handle = dlopen(path, RTLD_NOW);
	if (shared)
		unlink(path);
	PD_CHECK(handle, "%s", dlerror());
	step = step_of(handle);
	PD_TRY(walk_through(&event, &walk, step));
	PD_TRY(walk_through(&event, &walk, step));
	dlclose(handle);
	pd_event_close(&event);
	return 0;
}

/* A header without a usable table is ignored: the tables are found without it. */
static int unusable_headers(void)
{
	long by_code;
	size_t i;

	PD_TRY(eh_counted());
	PD_TRY(eh_read_images(&small, &large));
	by_code = eh_counter("frames fp");
	for (i = 0; i < 2 * ARRAY_SIZE(hdr_cases); i++) {
		const struct hdr_case *how = &hdr_cases[i / 2];

		if (walk_changed_hdr(how, i & 1))
			return pd_fail("%s, in a %s", how->name, i & 1 ? "file" : "memfd");
	}
	by_code = eh_counter("frames fp") - by_code;
	PD_CHECK(!by_code, "%ld frames without tables", by_code);
	return PD_PASS;
}

static int row_of_empty_function(void)
{
	size_t i;

	PD_TRY(eh_counted());
	if (eh_counter("rules code") < 0)
		return pd_skip("this kernel reads no code");
	PD_TRY(eh_read_images(&small, &large));
	for (i = 0; i < 2 * ARRAY_SIZE(empty_cases); i++) {
		const struct hdr_case *how = &empty_cases[i / 2];

		if (walk_changed_hdr(how, i & 1))
			return pd_fail("%s, in a %s", how->name, i & 1 ? "file" : "memfd");
	}
	return PD_PASS;
}

/* Find the text of the object that contains an address. */
struct text {
	unsigned long ip, start, end;
};

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct text *text = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || text->ip < start || text->ip >= start + ph->p_memsz)
			continue;
		text->start = start & ~(getpagesize() - 1UL);
		text->end = start + ph->p_memsz;
		return 1;
	}
	return 0;
}

/* Copy the text into anonymous memory, as programs do to have it in huge pages. */
static int move_text(unsigned long start, size_t size)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	PD_CHECK(copy != MAP_FAILED, "mmap: %s", strerror(errno));
	memcpy(copy, (void *)start, size);
	mprotect(copy, size, PROT_READ | PROT_EXEC);
	PD_CHECK(mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == (void *)start,
		 "mremap: %s", strerror(errno));
	return 0;
}

static int move_text_of(unsigned long ip, bool all)
{
	struct text text = { .ip = ip };

	PD_CHECK(dl_iterate_phdr(find_text, &text), "no object has %#lx", ip);
	if (all)
		return move_text(text.start, eh_whole_pages(text.end - text.start));
	return move_text(ip & ~(getpagesize() - 1UL), getpagesize());
}

static int move_and_walk(bool all)
{
	static struct eh_walk walk;
	struct pd_event event;
	void *handle;
	eh_step step;

	PD_TRY(eh_open(&event));
	handle = dlopen(pd_beside(EH_LARGE), RTLD_NOW);
	PD_CHECK(handle, "%s", dlerror());
	step = step_of(handle);
	PD_TRY(walk_through(&event, &walk, step));
	PD_TRY(move_text_of((unsigned long)step, true));
	PD_TRY(move_text_of((unsigned long)eh_pushes, all));
	PD_TRY(walk_through(&event, &walk, step));
	return walk_through(&event, &walk, step);
}

static int moved_text(void)
{
	return move_and_walk(true);
}

static int moved_page_of_text(void)
{
	return move_and_walk(false);
}

/* Return how many bytes of the mapping at @at are in transparent huge pages. */
static unsigned long huge_bytes(const char *at)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end, kib, found = 0;
	bool there = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			there = start <= (unsigned long)at && (unsigned long)at < end;
		else if (there && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			found = kib * 1024;
	}
	if (file)
		fclose(file);
	return found;
}

#define HUGE	(2UL * 1024 * 1024)

static char *map_huge(void)
{
	char *at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	at = (char *)(((unsigned long)at + HUGE - 1) & ~(HUGE - 1));
	if (madvise(at, HUGE, MADV_HUGEPAGE))
		return NULL;
	return at;
}

/* The whole object in one huge page: headers, code and tables. */
static int in_huge_page(void)
{
	static struct eh_walk walk;
	struct pd_event event;
	char *at, *image;
	eh_step step;
	size_t span;

	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK))
		return pd_skip("no transparent huge pages");
	PD_TRY(eh_open(&event));
	PD_TRY(eh_read_images(&small, &large));
	span = eh_whole_pages(large.span);
	at = map_huge();
	image = reserve_span();
	PD_CHECK(at && image, "no memory: %s", strerror(errno));
	PD_TRY(map_image(&large, image));
	memcpy(at, image, span);
	munmap(image, span);
	PD_CHECK(!mprotect(at, HUGE, PROT_READ | PROT_EXEC), "mprotect: %s", strerror(errno));
	if (huge_bytes(at) != HUGE)
		return pd_skip("no huge page available");
	image = at + large.step;
	memcpy(&step, &image, sizeof(step));
	PD_TRY(walk_through(&event, &walk, step));
	PD_TRY(walk_through(&event, &walk, step));
	PD_CHECK(huge_bytes(at) == HUGE, "it is in small pages now");
	return PD_PASS;
}

/*
 * A child process overwrites its own copy of an object's headers and unwind tables, while
 * this process uses an unchanged copy.
 */
struct target {
	char *at;
	const char *as_it_was;
	size_t size;
};

static struct target targets[2];

static unsigned long random_word(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Restore the target after every eighth change, else each walk would soon end at bad headers. */
static void *scribble_targets(void *seed)
{
	unsigned long state = (unsigned long)seed, i, word;

	for (i = 0;; i++) {
		struct target *to = &targets[random_word(&state) & 1];
		size_t at = random_word(&state) % (to->size - sizeof(word));

		word = random_word(&state);
		memcpy(to->at + at, &word, 1 + word % sizeof(word));
		if (i % 8 == 0)
			memcpy(to->at, to->as_it_was, to->size);
	}
	return NULL;
}

static eh_step hostile_step;

static long spin_a_little(struct eh_walk *walk)
{
	(void)walk;
	eh_spin(2);
	return 0;
}

static void *run_by_tables(void *unused)
{
	const eh_step steps[] = {
		hostile_step, eh_deep, hostile_step, eh_pushes, hostile_step, spin_a_little,
	};
	struct eh_walk *walk = calloc(1, sizeof(*walk));

	(void)unused;
	for (;;) {
		walk->steps = steps;
		walk->at = 0;
		walk->nr = 0;
		eh_next(walk);
	}
	return NULL;
}

/* The changes hit the object's headers, or .eh_frame_hdr up to the end of its segment. */
static int take_aim(char *at)
{
	const Elf64_Ehdr *elf = (void *)large.bytes;
	const Elf64_Phdr *ph = (void *)(large.bytes + elf->e_phoff);
	size_t hdr = 0, end = 0, page = getpagesize();
	int i;

	for (i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			hdr = ph[i].p_vaddr;
	for (i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && hdr >= ph[i].p_vaddr &&
		    hdr < ph[i].p_vaddr + ph[i].p_memsz)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	if (!end || hdr / page == large.step / page || large.step < page)
		return -1;
	targets[0] = (struct target) { at, large.bytes, elf->e_phoff + elf->e_phnum * sizeof(*ph) };
	targets[1] = (struct target) { at + hdr, large.bytes + hdr, end - hdr };
	if (mprotect(at, page, PROT_READ | PROT_WRITE))
		return -1;
	return mprotect(at + (hdr & ~(page - 1)), page, PROT_READ | PROT_WRITE);
}

static int hostile_child(void *unused)
{
	pthread_t thread;
	char *at;
	long i;

	(void)unused;
	at = reserve_span();
	if (!at || map_image(&large, at) || take_aim(at))
		return 1;
	at += large.step;
	memcpy(&hostile_step, &at, sizeof(hostile_step));
	for (i = 1; i <= 4; i++)
		if (pthread_create(&thread, NULL, i & 1 ? run_by_tables : scribble_targets,
				   (void *)(i * 77773)))
			return 1;
	pause();
	return 0;
}

/* Walk and read the buffers in three periods; the set must take samples in each. */
static int watch_hostile(struct pd_set *set, struct pd_log *log)
{
	static struct eh_walk walk;
	struct pd_event event;
	void *handle = dlopen(pd_beside(EH_LARGE), RTLD_NOW);
	size_t before, walks = 0;
	long long end;
	int third;

	PD_CHECK(handle, "%s", dlerror());
	PD_TRY(eh_open(&event));
	for (third = 0; third < 3; third++) {
		before = pd_log_count(log, PERF_RECORD_SAMPLE);
		end = pd_now_ns() + pd_scale(1000) * 1000000LL;
		while (pd_now_ns() < end) {
			PD_TRY(walk_through(&event, &walk, step_of(handle)));
			walks++;
			pd_set_drain(set, log);
		}
		PD_CHECK(pd_log_count(log, PERF_RECORD_SAMPLE) > before,
			 "no sample in second %d of 3", third + 1);
	}
	pd_note("%zu walks meanwhile", walks);
	return 0;
}

static int tables_that_change(void)
{
	const struct pd_rec *record = NULL;
	struct perf_event_attr attr;
	size_t frames = 0, most = 0;
	struct pd_log log = {};
	struct pd_child child;
	struct pd_set set;
	int ret, status;

	PD_TRY(eh_usable());
	PD_TRY(eh_read_images(&small, &large));
	pd_attr_clock(&attr, 10000);
	attr.inherit = 1;
	PD_TRY(pd_child_start(&child, hostile_child, NULL));
	PD_TRY(pd_set_must_open(&set, &attr, child.pid));
	pd_set_enable(&set);
	pd_child_go(&child);
	ret = watch_hostile(&set, &log);
	kill(child.pid, SIGKILL);
	status = pd_child_wait(&child, 10);
	pd_set_disable(&set);
	pd_set_drain(&set, &log);
	PD_TRY(ret);
	PD_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended with %#x", status);
	PD_CHECK(!log.malformed[0], "malformed: %s", log.malformed);
	while (pd_log_next(&log, PD_RECORD_DEFERRED, &record)) {
		frames += record->nr_user;
		most = record->nr_user > most ? record->nr_user : most;
	}
	pd_note("%zu samples, %zu records of %zu frames, at most %zu; %llu dropped",
		pd_log_count(&log, PERF_RECORD_SAMPLE), pd_log_count(&log, PD_RECORD_DEFERRED),
		frames, most, log.dropped);
	return PD_PASS;
}

const struct pd_test pd_tests[] = {
	PD_TEST(packed),
	PD_TEST(dlclose_and_another),
	PD_TEST(mapped_over),
	PD_TEST(moved_over),
	PD_TEST(mapped_over_while_walked),
	PD_TEST(caches_dropped),
	PD_TEST(from_memfd),
	PD_TEST(from_deleted_file),
	PD_TEST(unusable_headers),
	PD_TEST(row_of_empty_function),
	PD_TEST(moved_text),
	PD_TEST(moved_page_of_text),
	PD_TEST(in_huge_page),
	PD_TEST(tables_that_change),
};

const size_t pd_nr_tests = ARRAY_SIZE(pd_tests);
