/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of two objects that differ only in the size of a frame, so that a walk that
 * mixes up their rules is detected.
 */
#ifndef EH_IMAGE_H
#define EH_IMAGE_H

#include <stddef.h>

#define EH_SMALL	"eh_object_small.so"
#define EH_LARGE	"eh_object_large.so"
#define EH_PACKED	"eh_object_packed.so"
#define EH_MAX_IMAGE	65536
/* the size of a function of the objects that is not called; no other one has this size */
#define EH_UNUSED_BYTES	77

struct eh_image {
	char bytes[EH_MAX_IMAGE];
	size_t size;
	size_t span;			/* size of its segments in memory */
	size_t step;			/* the offset of eh_object_step() in the image */
	int fd;
};

/* Read both files. Return 0 or a reported result. */
int eh_read_images(struct eh_image *small, struct eh_image *large);
size_t eh_whole_pages(size_t bytes);
/* Rewrite a file in place, without truncation. */
int eh_write_image(const char *path, const struct eh_image *image);
/* Map @size bytes of a file in one piece, readable and executable. */
int eh_map_image(const char *path, size_t size, char **at);

#endif /* EH_IMAGE_H */
