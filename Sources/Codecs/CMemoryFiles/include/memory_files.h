// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Files in memory for a library that takes names of files only.
///
/// A program that is linked with this module has its own fopen, rename and unlink, which libraries of the program call too.
/// Names that begin with the prefix are memfds of this process; the functions pass other names on to the C library. No file
/// system is involved, so that a sandbox without writable folders permits them. All functions may be called on any thread.
/// The program's own nice does nothing: the session decides about its threads' priority.
#define HWD_MEMORY_FILE_PREFIX "hwdaemon-memory:"

/// Whether a file of this name exists.
bool hwd_memory_file_exists(const char *name);

/// The bytes of all files whose names begin with `start`.
uint64_t hwd_memory_file_bytes(const char *start);

/// Removes all files whose names begin with `start`; those that are open keep their memory until they are closed.
void hwd_memory_files_remove(const char *start);
