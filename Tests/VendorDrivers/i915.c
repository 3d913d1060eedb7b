// SPDX-License-Identifier: GPL-2.0-or-later
// A simulated i915 kernel driver with video engines: what media-driver asks for, on drm-shim.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "drm-uapi/i915_drm.h"
#include "drm-shim/drm_shim.h"
#include "i915_firmware.h"
#include "memory.h"

bool drm_shim_driver_prefers_first_render_node = true;

struct chip {
    const char *name;
    uint16_t pci_id;
    uint8_t slices, subslices, units;
    bool has_own_memory;
};

// PCI ids and numbers of execution units: the kernel's i915_pciids.h and Mesa's intel_device_info.c.
static const struct chip chips[] = {
    {"skl", 0x1912, 1, 3, 8}, {"bxt", 0x5a84, 1, 3, 6}, {"kbl", 0x5912, 1, 3, 8}, {"glk", 0x3185, 1, 3, 6},
    {"cfl", 0x3e92, 1, 3, 8}, {"icl", 0x8a52, 1, 8, 8}, {"ehl", 0x4571, 1, 4, 8}, {"tgl", 0x9a49, 1, 6, 16},
    {"rkl", 0x4c8a, 1, 2, 16}, {"adl", 0x4680, 1, 2, 16}, {"dg1", 0x4905, 1, 6, 16, true},
    {"dg2", 0x5690, 8, 4, 16, true},
};
static const struct chip *chip;

static int nothing(int fd, unsigned long request, void *arg) { return 0; }

static int get_parameter(int fd, unsigned long request, void *arg) {
    const drm_i915_getparam_t *query = arg;
    switch (query->param) {
    case I915_PARAM_CHIPSET_ID: *query->value = chip->pci_id; break;
    case I915_PARAM_REVISION: *query->value = 0; break;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY: *query->value = 12000000; break;
    case I915_PARAM_HAS_ALIASING_PPGTT: *query->value = 3; break;
    case I915_PARAM_NUM_FENCES_AVAIL: *query->value = 8; break;
    case I915_PARAM_HAS_EXEC_TIMELINE_FENCES:
    case I915_PARAM_HAS_USERPTR_PROBE:
    case I915_PARAM_HAS_LLC: *query->value = 0; break;
    // The media driver addresses buffers by relocation entries.
    case I915_PARAM_HAS_EXEC_SOFTPIN: *query->value = 1; break;
    case I915_PARAM_CMD_PARSER_VERSION: *query->value = 10; break;
    case I915_PARAM_MMAP_VERSION:
    case I915_PARAM_MMAP_GTT_VERSION: *query->value = 4; break;
    case I915_PARAM_SUBSLICE_TOTAL: *query->value = chip->slices * chip->subslices; break;
    case I915_PARAM_EU_TOTAL: *query->value = chip->slices * chip->subslices * chip->units; break;
    case I915_PARAM_SLICE_MASK: *query->value = (1 << chip->slices) - 1; break;
    case I915_PARAM_SUBSLICE_MASK: *query->value = (1 << chip->subslices) - 1; break;
    case I915_PARAM_PERF_REVISION: *query->value = 3; break;
    case I915_PARAM_HUC_STATUS: *query->value = getenv("VENDOR_NO_FIRMWARE") ? 0 : 1; break;
    default: *query->value = 1;
    }
    return 0;
}

/// Fills `size` bytes at an item's address; with a length of 0 the item only asks for the size.
static bool wants(struct drm_i915_query_item *item, int32_t size) {
    if (item->length == 0) {
        item->length = size;
        return false;
    }
    if (item->length < size) {
        item->length = -EINVAL;
        return false;
    }
    item->length = size;
    memset((void *)(uintptr_t)item->data_ptr, 0, size);
    return true;
}

static void answer_topology(struct drm_i915_query_item *item) {
    struct drm_i915_query_topology_info *info = (void *)(uintptr_t)item->data_ptr;
    int slices = (chip->slices + 7) / 8, subslices = (chip->subslices + 7) / 8, units = (chip->units + 7) / 8;
    int all = slices + chip->slices * subslices + chip->slices * chip->subslices * units;
    if (!wants(item, sizeof *info + all)) return;
    info->max_slices = chip->slices;
    info->max_subslices = chip->subslices;
    info->max_eus_per_subslice = chip->units;
    info->subslice_offset = slices;
    info->subslice_stride = subslices;
    info->eu_offset = slices + chip->slices * subslices;
    info->eu_stride = units;
    memset(info->data + info->eu_offset, 0xff, all - info->eu_offset);
    info->data[0] = (1 << chip->slices) - 1;
    for (int i = 0; i < chip->slices; i++)
        info->data[slices + i * subslices] = (1 << chip->subslices) - 1;
}

static void answer_engines(struct drm_i915_query_item *item) {
    static const struct i915_engine_class_instance engines[] = {
        {I915_ENGINE_CLASS_RENDER, 0}, {I915_ENGINE_CLASS_COPY, 0}, {I915_ENGINE_CLASS_VIDEO, 0},
        {I915_ENGINE_CLASS_VIDEO, 1}, {I915_ENGINE_CLASS_VIDEO_ENHANCE, 0}, {I915_ENGINE_CLASS_VIDEO_ENHANCE, 1},
    };
    enum { COUNT = sizeof engines / sizeof *engines };
    struct drm_i915_query_engine_info *info = (void *)(uintptr_t)item->data_ptr;
    if (!wants(item, sizeof *info + COUNT * sizeof info->engines[0])) return;
    info->num_engines = COUNT;
    for (int i = 0; i < COUNT; i++) {
        info->engines[i].engine = engines[i];
        if (engines[i].engine_class >= I915_ENGINE_CLASS_VIDEO)
            info->engines[i].capabilities =
                I915_VIDEO_CLASS_CAPABILITY_HEVC | I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC;
        info->engines[i].flags = I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE;
        info->engines[i].logical_instance = engines[i].engine_instance;
    }
}

static void answer_regions(struct drm_i915_query_item *item) {
    struct drm_i915_query_memory_regions *info = (void *)(uintptr_t)item->data_ptr;
    int count = chip->has_own_memory ? 2 : 1;
    if (!wants(item, sizeof *info + count * sizeof info->regions[0])) return;
    info->num_regions = count;
    for (int i = 0; i < count; i++) {
        info->regions[i].region.memory_class = i ? I915_MEMORY_CLASS_DEVICE : I915_MEMORY_CLASS_SYSTEM;
        info->regions[i].probed_size = 4ull << 30;
        info->regions[i].unallocated_size = 4ull << 30;
    }
}

static int query(int fd, unsigned long request, void *arg) {
    const struct drm_i915_query *query = arg;
    struct drm_i915_query_item *items = (void *)(uintptr_t)query->items_ptr;
    for (uint32_t i = 0; i < query->num_items; i++) {
        switch (items[i].query_id) {
        case DRM_I915_QUERY_TOPOLOGY_INFO:
        case DRM_I915_QUERY_GEOMETRY_SUBSLICES: answer_topology(&items[i]); break;
        case DRM_I915_QUERY_ENGINE_INFO: answer_engines(&items[i]); break;
        case DRM_I915_QUERY_MEMORY_REGIONS: answer_regions(&items[i]); break;
        default: items[i].length = -EINVAL;
        }
    }
    return 0;
}

static int context_parameter(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_context_param *query = arg;
    if (query->param == I915_CONTEXT_PARAM_GTT_SIZE) query->value = 1ull << 48;
    if (query->param == I915_CONTEXT_PARAM_VM) query->value = 1;
    return 0;
}

static int create_context(int fd, unsigned long request, void *arg) {
    static uint32_t last;
    ((struct drm_i915_gem_context_create *)arg)->ctx_id = ++last;
    return 0;
}

static int create_address_space(int fd, unsigned long request, void *arg) {
    ((struct drm_i915_gem_vm_control *)arg)->vm_id = 1;
    return 0;
}

static int aperture(int fd, unsigned long request, void *arg) {
    struct drm_i915_gem_get_aperture *query = arg;
    query->aper_size = query->aper_available_size = 1ull << 32;
    return 0;
}

#include "i915_buffers.h"

static ioctl_fn_t ioctls[] = {
    [DRM_I915_GETPARAM] = get_parameter,
    [DRM_I915_QUERY] = query,
    [DRM_I915_GET_RESET_STATS] = nothing,
    [DRM_I915_GEM_CREATE] = create,
    [DRM_I915_GEM_CREATE_EXT] = create_extended,
    [DRM_I915_GEM_MMAP] = map,
    [DRM_I915_GEM_MMAP_GTT] = map_offset,
    [DRM_I915_GEM_USERPTR] = user_memory,
    [DRM_I915_GEM_PWRITE] = write_buffer,
    [DRM_I915_GEM_PREAD] = read_buffer,
    [DRM_I915_GEM_SET_TILING] = set_tiling,
    [DRM_I915_GEM_GET_TILING] = get_tiling,
    [DRM_I915_GEM_CONTEXT_CREATE] = create_context,
    [DRM_I915_GEM_CONTEXT_DESTROY] = nothing,
    [DRM_I915_GEM_CONTEXT_GETPARAM] = context_parameter,
    [DRM_I915_GEM_CONTEXT_SETPARAM] = nothing,
    [DRM_I915_GEM_VM_CREATE] = create_address_space,
    [DRM_I915_GEM_VM_DESTROY] = nothing,
    [DRM_I915_GEM_EXECBUFFER2] = execute,
    [DRM_I915_GEM_GET_APERTURE] = aperture,
    [DRM_I915_REG_READ] = nothing,
    [DRM_I915_GEM_SET_DOMAIN] = nothing,
    [DRM_I915_GEM_GET_CACHING] = nothing,
    [DRM_I915_GEM_SET_CACHING] = nothing,
    [DRM_I915_GEM_MADVISE] = nothing,
    [DRM_I915_GEM_SW_FINISH] = nothing,
    [DRM_I915_GEM_THROTTLE] = nothing,
    [DRM_I915_GEM_WAIT] = nothing,
    [DRM_I915_GEM_BUSY] = nothing,
};

static void describe(const char *name, const char *text) {
    drm_shim_override_file(text, "/sys/dev/char/%d:%d/device/%s", DRM_MAJOR, render_node_minor, name);
}

void drm_shim_driver_init(void) {
    const char *name = getenv("INTEL_STUB_GPU_PLATFORM");
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (name && !strcasecmp(chips[i].name, name)) chip = &chips[i];
    if (!chip) {
        fprintf(stderr, "INTEL_STUB_GPU_PLATFORM names no known chip\n");
        abort();
    }
    shim_device.bus_type = DRM_BUS_PCI;
    shim_device.driver_name = "i915";
    shim_device.driver_ioctls = ioctls;
    shim_device.driver_ioctl_count = sizeof ioctls / sizeof *ioctls;
    shim_device.version_major = 1;
    shim_device.version_minor = 6;
    char text[256];
    snprintf(
        text, sizeof text,
        "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:%04X\nPCI_SUBSYS_ID=8086:0001\nPCI_SLOT_NAME=0000:00:02.0\n",
        chip->pci_id);
    describe("uevent", text);
    snprintf(text, sizeof text, "0x%04x\n", chip->pci_id);
    describe("device", text);
    describe("vendor", "0x8086\n");
    describe("revision", "0x00\n");
    describe("subsystem_vendor", "0x8086\n");
    describe("subsystem_device", "0x0001\n");
}
