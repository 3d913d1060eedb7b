// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it makes libva accept any character device as a render node, of the kernel driver that FAKE_VA_KERNEL names.
#include <stdlib.h>
#include <string.h>

int drmGetNodeTypeFromFd(int file) {
    (void)file;
    return 2;
}

// As in xf86drm.h.
typedef struct {
    int major, minor, patch;
    int name_length;
    char *name;
    int date_length;
    char *date;
    int description_length;
    char *description;
} version;

version *drmGetVersion(int file) {
    (void)file;
    const char *name = getenv("FAKE_VA_KERNEL");
    version *found = name ? calloc(1, sizeof *found) : NULL;
    if (!found) return NULL;
    found->name = strdup(name), found->date = strdup("20200101"), found->description = strdup("fake");
    found->name_length = (int)strlen(name);
    return found;
}

void drmFreeVersion(version *made) {
    if (!made) return;
    free(made->name), free(made->date), free(made->description);
    free(made);
}
