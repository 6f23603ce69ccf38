/* SPDX-License-Identifier: GPL-2.0 */
/* Chains of frames that no compiler would lay out, one frame per page. */
#ifndef PD_CHAIN_H
#define PD_CHAIN_H

/* Lay out the chain: every frame except the last one points to the frame one page above it. */
void pd_chain_lay(char *memory, unsigned int name, unsigned int frames);
/* Lay out the chain in a file, and map the file, but read no page of it. NULL on failure. */
char *pd_chain_map_file(unsigned int name, unsigned int frames);

#endif /* PD_CHAIN_H */
