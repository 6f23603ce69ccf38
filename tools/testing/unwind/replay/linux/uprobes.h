/* SPDX-License-Identifier: GPL-2.0 */
/* There are no uprobes. */
