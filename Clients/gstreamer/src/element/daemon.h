// SPDX-License-Identifier: MIT
#ifndef HWD_DAEMON_H
#define HWD_DAEMON_H

#include <glib.h>
#include <hwdaemon.h>

// The daemon at an address (NULL or empty: the default), shared by the elements of this process, so that they start one private daemon
// at most. 0, or a failure with hwd_last_error().
int hwd_shared_open(const char *address, hwd_daemon **daemon);
void hwd_shared_close(hwd_daemon *daemon);

#endif
