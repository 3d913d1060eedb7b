// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it makes libva accept any character device as a render node, of the kernel driver that FAKE_VA_KERNEL names. The kernel
// refuses the query of the HuC firmware with the error number FAKE_VA_HUC, if it is set.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int drmGetNodeTypeFromFd(int file) {
    (void)file;
    return 2;
}

int drmCommandWriteRead(int file, unsigned long command, void *data, unsigned long size) {
    (void)file, (void)command, (void)data, (void)size;
    const char *error = getenv("FAKE_VA_HUC");
    return error ? -atoi(error) : -ENODEV;
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
