// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <subcmd/parse-options.h>

#include "debug.h"
#include "deferred-callchain.h"
#include "units.h"

/* What may wait for records or for its turn, unless the user says otherwise. */
static size_t limit = 512UL << 20;

/**
 * deferred_callchain_limit - how much may be kept waiting
 *
 * Return: the number of bytes for each session.
 */
size_t deferred_callchain_limit(void)
{
	return limit;
}

/**
 * deferred_callchain__set_limit - set how much sessions to come may keep waiting
 * @value: a number of bytes in full, kilobytes, megabytes or gigabytes, with B,
 *	K, M or G behind it
 * @where: name of the setting, for the message
 *
 * Return: 0 or, after a message, -EINVAL.
 */
int deferred_callchain__set_limit(const char *value, const char *where)
{
	struct parse_tag tags[] = {
		{ .tag = 'B', .mult = 1 },
		{ .tag = 'K', .mult = 1 << 10 },
		{ .tag = 'M', .mult = 1 << 20 },
		{ .tag = 'G', .mult = 1 << 30 },
		{ .tag = 0 },
	};
	size_t digits = value ? strspn(value, "0123456789") : 0;
	unsigned long size = -1UL;

	if (digits && value[digits] && !value[digits + 1])
		size = parse_tag_value(value, tags);
	if (!size || size == -1UL) {
		pr_err("%s: '%s' is no size, use for instance 64M (B, K, M or G, not 0)\n",
		       where, value ?: "");
		return -EINVAL;
	}

	limit = size;
	return 0;
}

/**
 * deferred_callchain__limit_option - as set_limit, for an option on the command line
 * @opt: the option
 * @arg: its argument
 * @unset: whether it was given as --no-...
 *
 * Return: 0 or, after a message, -EINVAL.
 */
int deferred_callchain__limit_option(const struct option *opt, const char *arg, int unset)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s", opt->long_name);
	return deferred_callchain__set_limit(unset ? NULL : arg, name);
}
