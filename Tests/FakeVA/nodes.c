// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it makes libva accept any character device as a render node, and libdrm report of it what variables name:
//   FAKE_VA_KERNEL  the name of its kernel driver
//   FAKE_VA_PCI     its PCI vendor and device ids, as 1002:73bf; its address is 0000:03:00.0
//   FAKE_VA_HUC     the error number with which i915 refuses the query of the HuC firmware
//   FAKE_VA_RINGS   the bit mask of rings that amdgpu reports of each of its video engines
#include <amdgpu_drm.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xf86drm.h>

int drmGetNodeTypeFromFd(int file) {
    (void)file;
    return DRM_NODE_RENDER;
}

int drmCommandWriteRead(int file, unsigned long command, void *data, unsigned long size) {
    (void)file, (void)command, (void)data, (void)size;
    const char *error = getenv("FAKE_VA_HUC");
    return error ? -atoi(error) : -ENODEV;
}

int drmCommandWrite(int file, unsigned long command, void *data, unsigned long size) {
    (void)file, (void)size;
    const char *rings = getenv("FAKE_VA_RINGS");
    const struct drm_amdgpu_info *query = data;
    if (!rings || command != DRM_AMDGPU_INFO || query->query != AMDGPU_INFO_HW_IP_INFO) return -ENODEV;
    struct drm_amdgpu_info_hw_ip engine = {.available_rings = (uint32_t)strtoul(rings, NULL, 0)};
    size_t length = query->return_size < sizeof engine ? query->return_size : sizeof engine;
    memcpy((void *)(uintptr_t)query->return_pointer, &engine, length);
    return 0;
}

drmVersionPtr drmGetVersion(int file) {
    (void)file;
    const char *name = getenv("FAKE_VA_KERNEL");
    drmVersionPtr found = name ? calloc(1, sizeof *found) : NULL;
    if (!found) return NULL;
    found->name = strdup(name), found->date = strdup("20200101"), found->desc = strdup("fake");
    found->name_len = (int)strlen(name);
    return found;
}

void drmFreeVersion(drmVersionPtr made) {
    if (!made) return;
    free(made->name), free(made->date), free(made->desc);
    free(made);
}

int drmGetDeviceFromDevId(dev_t number, uint32_t flags, drmDevicePtr *found) {
    (void)number, (void)flags;
    struct made {
        drmDevice device;
        drmPciBusInfo bus;
        drmPciDeviceInfo ids;
    };
    const char *pci = getenv("FAKE_VA_PCI");
    unsigned vendor, product;
    if (!pci || sscanf(pci, "%4x:%4x", &vendor, &product) != 2) return -ENODEV;
    struct made *made = calloc(1, sizeof *made);
    if (!made) return -ENOMEM;
    made->device.available_nodes = 1 << DRM_NODE_RENDER;
    made->device.bustype = DRM_BUS_PCI;
    made->device.businfo.pci = &made->bus;
    made->device.deviceinfo.pci = &made->ids;
    made->bus.bus = 3;
    made->ids.vendor_id = (uint16_t)vendor, made->ids.device_id = (uint16_t)product;
    *found = &made->device;
    return 0;
}

void drmFreeDevice(drmDevicePtr *device) {
    // It is the first member of what was made.
    free(*device);
    *device = NULL;
}
