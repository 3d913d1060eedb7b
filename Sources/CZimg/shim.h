// SPDX-License-Identifier: GPL-2.0-or-later
// libzimg for Swift.
#pragma once
#include <zimg.h>
