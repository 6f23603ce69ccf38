/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of frames that no compiler would lay out, one frame a page. */
#ifndef PD_CHAIN_H
#define PD_CHAIN_H

/* Every frame except the last one points to the frame one page above it. */
void pd_chain_lay(char *memory, unsigned int name, unsigned int frames);
/* Make such a chain in a private mapping of a file that is not in memory yet. NULL on failure. */
char *pd_chain_map_file(unsigned int name, unsigned int frames);

#endif /* PD_CHAIN_H */
