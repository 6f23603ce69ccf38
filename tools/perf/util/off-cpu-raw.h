/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_OFF_CPU_RAW_H
#define __PERF_OFF_CPU_RAW_H

struct evlist;
struct evsel;
struct machine;
struct off_cpu_raw;
struct perf_sample;

void evlist__mark_off_cpu_raw(struct evlist *evlist);
int off_cpu_raw__decode(struct off_cpu_raw **where, struct evsel *evsel,
			struct perf_sample *sample, struct machine *machine);
void off_cpu_raw__warn(const struct off_cpu_raw *oc);
void off_cpu_raw__delete(struct off_cpu_raw *oc);

#endif /* __PERF_OFF_CPU_RAW_H */
