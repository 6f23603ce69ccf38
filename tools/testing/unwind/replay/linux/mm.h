/* SPDX-License-Identifier: GPL-2.0 */
#include "../../finder/linux/mm.h"
