// SPDX-License-Identifier: GPL-2.0
/*
 * Damage a small perf.data file for libFuzzer.  Most changes concern whole events, and
 * fields that are counts, sizes, cookies or contexts.  A fifth of them are libFuzzer's
 * own changes, within an event or in all bytes from the first event on.
 */
#include <byteswap.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "deferred-callchain-file.h"
#include "deferred-callchain-load.h"
#include "deferred-callchain-mutate.h"
#include "event.h"
#include "header.h"

#define MAX_EVENTS	512
#define MAX_CHANGES	6
#define DATA_OFFSET	offsetof(struct perf_file_header, data)
#define FEATURES_OFFSET	offsetof(struct perf_file_header, adds_features)

/* The file that is being damaged. */
struct image {
	bool foreign;
	bool piped;
	u64 random;
	u8 *bytes;
	size_t size;
	size_t room;			/* maximum size */
	size_t data;			/* where the events begin */
	size_t events[MAX_EVENTS + 1];	/* start of each event, and the end */
	unsigned int nr_events;
};

static unsigned int random_below(struct image *img, unsigned int limit)
{
	return synth_random__below(&img->random, limit);
}

static u64 get_u64(const struct image *img, size_t offset)
{
	u64 value;

	memcpy(&value, img->bytes + offset, sizeof(value));
	return img->foreign ? bswap_64(value) : value;
}

static void set_u64(struct image *img, size_t offset, u64 value)
{
	if (offset + sizeof(value) > img->size)
		return;
	value = img->foreign ? bswap_64(value) : value;
	memcpy(img->bytes + offset, &value, sizeof(value));
}

static u16 event_size(const struct image *img, size_t event)
{
	u16 size;

	memcpy(&size, img->bytes + event + offsetof(struct perf_event_header, size), sizeof(size));
	return img->foreign ? bswap_16(size) : size;
}

static void set_event_size(struct image *img, size_t event, u16 size)
{
	size = img->foreign ? bswap_16(size) : size;
	memcpy(img->bytes + event + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void set_event_type(struct image *img, size_t event, u32 type)
{
	type = img->foreign ? bswap_32(type) : type;
	memcpy(img->bytes + event, &type, sizeof(type));
}

/* Find the events up to the first one whose size is damaged. */
static void find_events(struct image *img)
{
	size_t at = img->data;

	img->nr_events = 0;
	while (img->nr_events < MAX_EVENTS && at + sizeof(struct perf_event_header) <= img->size) {
		u16 size = event_size(img, at);

		if (size < sizeof(struct perf_event_header) || at + size > img->size)
			break;
		img->events[img->nr_events++] = at;
		at += size;
	}
	img->events[img->nr_events] = at;
}

static unsigned int any_event(struct image *img)
{
	return random_below(img, img->nr_events);
}

static size_t event_room(const struct image *img, unsigned int i)
{
	return img->events[i + 1] - img->events[i];
}

static u64 strange_value(struct image *img, u64 now)
{
	const u64 values[] = {
		0, 1, 2, 3, 8, 0x7f, 0xff, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 1ULL << 32,
		1ULL << 61, 1ULL << 63, -1ULL, -2ULL, PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER,
		PERF_CONTEXT_USER_DEFERRED, PERF_CONTEXT_MAX, PERF_CONTEXT_GUEST, now + 1, now - 1,
		now << 1, now + (1ULL << 32), now ^ 0xff, synth_random__next(&img->random),
	};

	return values[random_below(img, ARRAY_SIZE(values))];
}

static void change_word(struct image *img)
{
	unsigned int i = any_event(img);
	size_t words = event_room(img, i) / sizeof(u64);
	size_t at = img->events[i] + random_below(img, words) * sizeof(u64);

	set_u64(img, at, strange_value(img, get_u64(img, at)));
}

/* Change a word near the front: cookie or count of a record, count of a sample, pid and tid... */
static void change_front_word(struct image *img)
{
	unsigned int i = any_event(img);
	size_t at = img->events[i] + (1 + random_below(img, 7)) * sizeof(u64);

	if (at + sizeof(u64) <= img->events[i + 1])
		set_u64(img, at, strange_value(img, get_u64(img, at)));
}

/* Change a word near the end: marker or cookie of a sample, sample_id of another event. */
static void change_back_word(struct image *img)
{
	unsigned int i = any_event(img);
	size_t back = (1 + random_below(img, 6)) * sizeof(u64);

	if (back < event_room(img, i)) {
		size_t at = img->events[i + 1] - back;

		set_u64(img, at, strange_value(img, get_u64(img, at)));
	}
}

static void copy_word(struct image *img)
{
	unsigned int from = any_event(img), to = any_event(img);
	size_t src = img->events[from] + random_below(img, event_room(img, from) / 8) * 8;
	size_t dst = img->events[to] + random_below(img, event_room(img, to) / 8) * 8;

	memmove(img->bytes + dst, img->bytes + src, sizeof(u64));
}

static void flip_bit(struct image *img)
{
	size_t at = img->data + random_below(img, img->size - img->data);

	img->bytes[at] ^= 1 << random_below(img, 8);
}

static void change_size(struct image *img)
{
	unsigned int i = any_event(img);
	size_t now = event_room(img, i);
	const u16 sizes[] = {
		0, 7, 8, 12, 16, 24, now - 1, now + 1, now - 8, now + 8, now - 16, now * 2, 0xfff8,
		0xffff, random_below(img, 0x10000),
	};

	set_event_size(img, img->events[i], sizes[random_below(img, ARRAY_SIZE(sizes))]);
}

static void change_type(struct image *img)
{
	const u32 types[] = {
		PERF_RECORD_SAMPLE, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_EXIT,
		PERF_RECORD_FORK, PERF_RECORD_COMM, PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES,
		PERF_RECORD_FINISHED_ROUND, PERF_RECORD_HEADER_ATTR, PERF_RECORD_EVENT_UPDATE,
		PERF_RECORD_ID_INDEX, PERF_RECORD_AUXTRACE_ERROR, PERF_RECORD_TIME_CONV,
		random_below(img, PERF_RECORD_MAX),
	};

	set_event_type(img, img->events[any_event(img)],
		       types[random_below(img, ARRAY_SIZE(types))]);
}

static void change_misc(struct image *img)
{
	size_t at = img->events[any_event(img)] + offsetof(struct perf_event_header, misc);

	img->bytes[at + random_below(img, 2)] = random_below(img, 256);
}

static void delete_event(struct image *img)
{
	unsigned int i = any_event(img);
	size_t end = img->events[i + 1];

	memmove(img->bytes + img->events[i], img->bytes + end, img->size - end);
	img->size -= event_room(img, i);
}

/* Copy an event to another place, as if its buffer had been read again at another time. */
static void duplicate_event(struct image *img)
{
	unsigned int i = any_event(img), to = any_event(img);
	size_t size = event_room(img, i);
	u8 *copy;

	if (img->size + size > img->room)
		return;
	copy = malloc(size);
	if (!copy)
		return;
	memcpy(copy, img->bytes + img->events[i], size);
	memmove(img->bytes + img->events[to] + size, img->bytes + img->events[to],
		img->size - img->events[to]);
	memcpy(img->bytes + img->events[to], copy, size);
	img->size += size;
	free(copy);
}

static void truncate_file(struct image *img)
{
	img->size = img->data + random_below(img, img->size - img->data);
}

/* Damage the header: sizes, offsets and attributes, but not the features. */
static void change_header(struct image *img)
{
	size_t at = random_below(img, img->data / 8) * 8;

	if (at < FEATURES_OFFSET || at >= sizeof(struct perf_file_header))
		set_u64(img, at, strange_value(img, get_u64(img, at)));
}

static void mutate_event(struct image *img)
{
	unsigned int i = any_event(img);
	size_t size = event_room(img, i) - sizeof(struct perf_event_header);

	if (size)
		LLVMFuzzerMutate(img->bytes + img->events[i + 1] - size, size, size);
}

static void mutate_events(struct image *img)
{
	img->size = img->data + LLVMFuzzerMutate(img->bytes + img->data, img->size - img->data,
						 img->room - img->data);
}

typedef void (*change_fn)(struct image *img);

static const change_fn changes[] = {
	change_word, change_word, change_front_word, change_front_word, change_back_word,
	change_back_word, copy_word, flip_bit, change_size, change_type, change_misc,
	delete_event, delete_event, duplicate_event, duplicate_event, truncate_file,
	mutate_event, mutate_event, mutate_event, mutate_events,
};

static void damage_image(struct image *img)
{
	unsigned int nr = 1 + random_below(img, MAX_CHANGES);

	for (unsigned int i = 0; i < nr; i++) {
		find_events(img);
		if (!img->nr_events)
			break;
		changes[random_below(img, ARRAY_SIZE(changes))](img);
	}
	if (img->piped)
		return;
	if (random_below(img, 4))
		set_u64(img, DATA_OFFSET + sizeof(u64), img->size - img->data);
	if (!random_below(img, 10))
		change_header(img);
	if (!random_below(img, 10))
		img->bytes[DEFERRED_WAY_OFFSET] = random_below(img, DEFERRED_WAYS);
}

/**
 * deferred_mutate__is_piped - does a file begin like a pipe?
 * @data: the file
 * @size: its size
 *
 * Return: true if so.
 */
bool deferred_mutate__is_piped(const u8 *data, size_t size)
{
	struct perf_pipe_file_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return header.size == sizeof(header);
}

static bool load_image(struct image *img)
{
	u64 magic;

	img->piped = deferred_mutate__is_piped(img->bytes, img->size);
	if (img->piped) {
		img->data = sizeof(struct perf_pipe_file_header);
		return img->data < img->size;
	}
	if (img->size <= sizeof(struct perf_file_header))
		return false;

	memcpy(&magic, img->bytes, sizeof(magic));
	img->foreign = magic == bswap_64(SYNTH_MAGIC);
	img->data = get_u64(img, DATA_OFFSET);
	return img->data >= sizeof(struct perf_file_header) && img->data < img->size;
}

/**
 * LLVMFuzzerCustomMutator - damage a perf.data file in place
 * @data: the file
 * @size: its size
 * @max: its maximum size
 * @seed: chooses the damage
 *
 * libFuzzer calls the function of this name, if it exists.
 *
 * Return: the new size.
 */
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max, unsigned int seed)
{
	struct image img = { .random = seed, .bytes = data, .size = size, .room = max };

	if (load_image(&img))
		damage_image(&img);
	return img.size;
}
