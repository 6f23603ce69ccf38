// SPDX-License-Identifier: GPL-2.0
/*
 * Check that an event is large enough for its contents.  The functions that
 * process events do not check this: they read all fields of the event's type, text
 * up to a zero byte, and as many items as the event claims to have.  Types whose
 * functions check the size themselves are not in the table.
 */
#include <byteswap.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "event.h"
#include "event-layout.h"

/**
 * struct layout - the parts of one type of event
 * @size: minimum size of an event of that type
 * @text: offset of its text, or 0
 * @item: size of an item, or 0; the number of items is the last u64 of the first @size bytes
 * @rest: checks the part behind @size, or NULL
 */
struct layout {
	u16 size;
	u16 text;
	u16 item;
	bool (*rest)(const union perf_event *event, bool swapped);
};

static bool text_fits(const union perf_event *event, u16 text)
{
	return event->header.size > text &&
	       memchr((const char *)event + text, 0, event->header.size - text);
}

static bool items_fit(const union perf_event *event, const struct layout *layout, bool swapped)
{
	u64 room = event->header.size - layout->size;
	u64 nr;

	memcpy(&nr, (const char *)event + layout->size - sizeof(nr), sizeof(nr));
	nr = swapped ? bswap_64(nr) : nr;
	return nr <= room / layout->item;
}

static bool text_poke_fits(const union perf_event *event, bool swapped)
{
	const struct perf_record_text_poke_event *poke = &event->text_poke;
	size_t old_len = swapped ? bswap_16(poke->old_len) : poke->old_len;
	size_t new_len = swapped ? bswap_16(poke->new_len) : poke->new_len;

	return offsetof(typeof(*poke), bytes) + old_len + new_len <= event->header.size;
}

/*
 * The attr contains its own size, and the ids follow the attr.  A size of zero means the
 * size of the first version.
 */
static bool attr_fits(const union perf_event *event, bool swapped)
{
	u32 size = event->attr.attr.size;

	size = swapped ? bswap_32(size) : size;
	size = size ?: PERF_ATTR_SIZE_VER0;
	return size >= PERF_ATTR_SIZE_VER0 &&
	       size <= event->header.size - offsetof(struct perf_record_header_attr, attr);
}

/* An event of format 0 has no time, one of format 2 or later has more fields behind the text. */
static bool error_fits(const union perf_event *event, bool swapped)
{
	const struct perf_record_auxtrace_error *error = &event->auxtrace_error;
	u32 fmt = swapped ? bswap_32(error->fmt) : error->fmt;

	if (!fmt)
		return text_fits(event, offsetof(typeof(*error), time));
	return text_fits(event, offsetof(typeof(*error), msg)) &&
	       (fmt < 2 || event->header.size >= sizeof(*error));
}

/* A list of CPUs and both kinds of masks have the number of items at the same offset. */
static bool array_fits(const struct perf_record_cpu_map_data *data, size_t room, size_t array,
		       size_t item, bool swapped)
{
	u16 nr = swapped ? bswap_16(data->cpus_data.nr) : data->cpus_data.nr;

	return array <= room && nr <= (room - array) / item;
}

static bool mask_fits(const struct perf_record_cpu_map_data *data, size_t room, bool swapped)
{
	size_t at32 = offsetof(struct perf_record_cpu_map_data, mask32_data.mask);
	size_t at64 = offsetof(struct perf_record_cpu_map_data, mask64_data.mask);
	u16 size;

	if (room < at32)
		return false;
	size = swapped ? bswap_16(data->mask32_data.long_size) : data->mask32_data.long_size;
	return size == sizeof(u32) ? array_fits(data, room, at32, size, swapped) :
	       size == sizeof(u64) && array_fits(data, room, at64, size, swapped);
}

static bool cpus_fit(const struct perf_record_cpu_map_data *data, size_t room, bool swapped)
{
	if (room < offsetof(struct perf_record_cpu_map_data, cpus_data.cpu))
		return false;

	switch (swapped ? bswap_16(data->type) : data->type) {
	case PERF_CPU_MAP__CPUS:
		return array_fits(data, room, offsetof(typeof(*data), cpus_data.cpu), sizeof(u16),
				  swapped);
	case PERF_CPU_MAP__MASK:
		return mask_fits(data, room, swapped);
	case PERF_CPU_MAP__RANGE_CPUS:
		return room >= offsetof(typeof(*data), range_cpu_data) +
			       sizeof(data->range_cpu_data);
	default:
		return true;
	}
}

static bool cpu_map_fits(const union perf_event *event, bool swapped)
{
	size_t start = offsetof(struct perf_record_cpu_map, data);

	return event->header.size >= start &&
	       cpus_fit(&event->cpu_map.data, event->header.size - start, swapped);
}

/* Readers do not swap the part behind the id. */
static bool update_fits(const union perf_event *event, bool swapped)
{
	size_t start = offsetof(struct perf_record_event_update, scale);
	size_t room = event->header.size - start;
	u64 type = event->event_update.type;

	switch (swapped ? bswap_64(type) : type) {
	case PERF_EVENT_UPDATE__UNIT:
	case PERF_EVENT_UPDATE__NAME:
		return text_fits(event, start);
	case PERF_EVENT_UPDATE__SCALE:
		return room >= sizeof(event->event_update.scale);
	case PERF_EVENT_UPDATE__CPUS:
		return cpus_fit(&event->event_update.cpus.cpus, room, false);
	default:
		return true;
	}
}

/*
 * The data behind the event are skipped. Their size is returned as an s64, so it must not be
 * negative.
 */
static bool auxtrace_fits(const union perf_event *event, bool swapped)
{
	u64 size = event->auxtrace.size;

	size = swapped ? bswap_64(size) : size;
	return size <= INT64_MAX;
}

#define FIXED(type)		{ .size = sizeof(struct perf_record_##type) }
#define BEFORE(type, field)	{ .size = offsetof(struct perf_record_##type, field) }
#define TEXT(type, field)	{ .text = offsetof(struct perf_record_##type, field) }
#define ITEMS(type, field, entry)				\
	{ .size = offsetof(struct perf_record_##type, field),	\
	  .item = sizeof(struct entry) }
#define REST(type, field, fits)						\
	{ .size = offsetof(struct perf_record_##type, field), .rest = fits }

static const struct layout layouts[] = {
	[PERF_RECORD_MMAP] = TEXT(mmap, filename),
	[PERF_RECORD_LOST] = FIXED(lost),
	[PERF_RECORD_COMM] = TEXT(comm, comm),
	[PERF_RECORD_EXIT] = FIXED(fork),
	[PERF_RECORD_THROTTLE] = FIXED(throttle),
	[PERF_RECORD_UNTHROTTLE] = FIXED(throttle),
	[PERF_RECORD_FORK] = FIXED(fork),
	[PERF_RECORD_READ] = BEFORE(read, time_enabled),
	[PERF_RECORD_MMAP2] = TEXT(mmap2, filename),
	[PERF_RECORD_AUX] = FIXED(aux),
	[PERF_RECORD_ITRACE_START] = FIXED(itrace_start),
	[PERF_RECORD_LOST_SAMPLES] = FIXED(lost_samples),
	[PERF_RECORD_SWITCH_CPU_WIDE] = FIXED(switch),
	[PERF_RECORD_NAMESPACES] = ITEMS(namespaces, link_info, perf_ns_link_info),
	[PERF_RECORD_KSYMBOL] = TEXT(ksymbol, name),
	[PERF_RECORD_BPF_EVENT] = BEFORE(bpf_event, tag),
	[PERF_RECORD_CGROUP] = TEXT(cgroup, path),
	[PERF_RECORD_TEXT_POKE] = REST(text_poke_event, bytes, text_poke_fits),
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = FIXED(aux_output_hw_id),
	[PERF_RECORD_HEADER_ATTR] = REST(header_attr, attr.config, attr_fits),
	[PERF_RECORD_HEADER_EVENT_TYPE] = FIXED(header_event_type),
	/* An older perf writes this event without the padding. */
	[PERF_RECORD_HEADER_TRACING_DATA] = BEFORE(header_tracing_data, pad),
	[PERF_RECORD_HEADER_BUILD_ID] = TEXT(header_build_id, filename),
	[PERF_RECORD_ID_INDEX] = ITEMS(id_index, entries, id_index_entry),
	[PERF_RECORD_AUXTRACE_INFO] = FIXED(auxtrace_info),
	[PERF_RECORD_AUXTRACE] = { .size = sizeof(struct perf_record_auxtrace),
				   .rest = auxtrace_fits },
	[PERF_RECORD_AUXTRACE_ERROR] = REST(auxtrace_error, time, error_fits),
	[PERF_RECORD_THREAD_MAP] = ITEMS(thread_map, entries, perf_record_thread_map_entry),
	[PERF_RECORD_STAT_CONFIG] = ITEMS(stat_config, data, perf_record_stat_config_entry),
	[PERF_RECORD_CPU_MAP] = { .rest = cpu_map_fits },
	[PERF_RECORD_STAT] = FIXED(stat),
	[PERF_RECORD_STAT_ROUND] = FIXED(stat_round),
	[PERF_RECORD_EVENT_UPDATE] = REST(event_update, scale, update_fits),
	[PERF_RECORD_TIME_CONV] = BEFORE(time_conv, time_cycles),
	[PERF_RECORD_HEADER_FEATURE] = BEFORE(header_feature, data),
};

/**
 * perf_event__fits - is an event large enough for its parts?
 * @event: an event from a file, its header in this machine's byte order
 * @swapped: the rest of the event is in the other byte order
 *
 * Return: false if @event must not be processed.
 */
bool perf_event__fits(const union perf_event *event, bool swapped)
{
	const struct layout *layout;

	if (event->header.type >= ARRAY_SIZE(layouts))
		return true;

	layout = &layouts[event->header.type];
	if (event->header.size < layout->size)
		return false;
	if (layout->text && !text_fits(event, layout->text))
		return false;
	if (layout->item && !items_fit(event, layout, swapped))
		return false;
	return !layout->rest || layout->rest(event, swapped);
}
