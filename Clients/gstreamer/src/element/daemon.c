// SPDX-License-Identifier: MIT
#include "element/daemon.h"

typedef struct Shared { char *address; hwd_daemon *daemon; guint users; } Shared;

static GMutex lock;
static GSList *all;

int hwd_shared_open(const char *address, hwd_daemon **daemon) {
    int result = 0;
    Shared *found = NULL;
    if (address && !*address) address = NULL;
    g_mutex_lock(&lock);
    for (GSList *at = all; at && !found; at = at->next)
        if (g_strcmp0(((Shared *)at->data)->address, address) == 0) found = at->data;
    if (!found && (result = hwd_open(address, address ? 0 : HWD_OPEN_PRIVATE, daemon)) == 0) {
        found = g_new0(Shared, 1);
        found->address = g_strdup(address);
        found->daemon = *daemon;
        all = g_slist_prepend(all, found);
    }
    if (found) {
        found->users++;
        *daemon = found->daemon;
    }
    g_mutex_unlock(&lock);
    return result;
}

void hwd_shared_close(hwd_daemon *daemon) {
    g_mutex_lock(&lock);
    for (GSList *at = all; at; at = at->next) {
        Shared *shared = at->data;
        if (shared->daemon != daemon || --shared->users > 0) continue;
        all = g_slist_delete_link(all, at);
        hwd_close(shared->daemon);
        g_free(shared->address);
        g_free(shared);
        break;
    }
    g_mutex_unlock(&lock);
}
