// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <pipewire/pipewire.h>
#include <spa/debug/types.h>
#include <spa/param/audio/format-utils.h>
#include <spa/param/video/format-utils.h>
