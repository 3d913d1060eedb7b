// SPDX-License-Identifier: GPL-2.0-or-later
// A simulated amdgpu kernel driver: Mesa's own, which knows graphics only, with video engines and their firmware.
#define drm_shim_driver_init graphics_driver_init
#include "amdgpu_noop_drm_shim.c"
#undef drm_shim_driver_init

#include <stdio.h>

#include "amdgpu_firmware.h"
#include "journal.h"
#include "memory.h"

/// What Mesa's table of chips leaves out.
struct chip {
    const char *name;
    uint16_t pci_id;
    /// The video engine's version; 0 for chips with UVD and VCE.
    uint8_t major, minor, revision;
};

// PCI ids: the kernel's amdgpu_drv.c; versions: Mesa's ac_gpu_info.c.
static const struct chip chips[] = {
    {"stoney", 0x98e4}, {"polaris10", 0x67df}, {"polaris12", 0x699f}, {"vega10", 0x687f},
    {"raven", 0x15dd, 1, 0, 0}, {"raven2", 0x15d8, 1, 0, 1}, {"renoir", 0x1636, 2, 2, 0},
    {"navi10", 0x731f, 2, 0, 0}, {"navi21", 0x73bf, 3, 0, 0}, {"vangogh", 0x163f, 3, 0, 2},
    {"raphael_mendocino", 0x164e, 3, 1, 2}, {"navi31", 0x744c, 4, 0, 0}, {"gfx1150", 0x150e, 4, 0, 5},
};
static const struct chip *chip;

/// A buffer in the GPU's address space.
struct mapping {
    uint64_t address, size, offset;
    struct shim_bo *buffer;
};
enum { MAX_MAPPINGS = 8192 };
static struct mapping mappings[MAX_MAPPINGS];

/// The family of the chip's driver interface (amdgpu_drm.h).
static unsigned family(void) { return amdgpu_dev->dev.family; }

/// Whether one queue both encodes and decodes.
static bool is_unified(void) { return chip->major >= 4; }

/// Without their firmware the kernel offers no engines.
static bool has_engine(uint32_t type) {
    if (getenv("VENDOR_NO_FIRMWARE")) return false;
    switch (type) {
    case AMDGPU_HW_IP_UVD:
    case AMDGPU_HW_IP_VCE: return chip->major == 0;
    case AMDGPU_HW_IP_UVD_ENC: return family() == AMDGPU_FAMILY_VI || family() == AMDGPU_FAMILY_AI;
    case AMDGPU_HW_IP_VCN_DEC: return chip->major > 0 && !is_unified();
    case AMDGPU_HW_IP_VCN_ENC:
    case AMDGPU_HW_IP_VCN_JPEG: return chip->major > 0;
    default: return false;
    }
}

static void answer_engine(uint32_t type, uint32_t size, void *out) {
    struct drm_amdgpu_info_hw_ip engine = {0};
    if (has_engine(type)) {
        engine.hw_ip_version_major = chip->major ? chip->major : 6;
        engine.hw_ip_version_minor = chip->minor;
        engine.ib_start_alignment = 256;
        engine.ib_size_alignment = 4;
        engine.available_rings = 1;
        if (chip->major) engine.ip_discovery_version = chip->major << 16 | chip->minor << 8 | chip->revision;
    }
    memcpy(out, &engine, size < sizeof engine ? size : sizeof engine);
}

static void allow(struct drm_amdgpu_info_video_caps *out, int codec, uint32_t width, uint32_t height, uint32_t level) {
    out->codec_info[codec].valid = 1;
    out->codec_info[codec].max_width = width;
    out->codec_info[codec].max_height = height;
    out->codec_info[codec].max_pixels_per_frame = width * height;
    out->codec_info[codec].max_level = level;
}

/// The codecs and sizes, as the kernel's tables for each chip list them (soc15.c, nv.c, soc21.c, vi.c).
static void answer_codecs(uint32_t direction, uint32_t size, void *out) {
    struct drm_amdgpu_info_video_caps caps = {0};
    bool is_large = chip->major >= 2;
    if (direction == AMDGPU_INFO_VIDEO_CAPS_DECODE) {
        allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_MPEG4_AVC, 4096, is_large ? 4096 : 2304, 52);
        allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_HEVC, is_large ? 8192 : 4096, is_large ? 4352 : 2304, 186);
        allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_JPEG, 4096, 4096, 0);
        if (chip->major) allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_VP9, is_large ? 8192 : 4096, is_large ? 4352 : 2304, 0);
    } else {
        allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_MPEG4_AVC, 4096, 2304, 0);
        if (family() != AMDGPU_FAMILY_CZ)
            allow(&caps, AMDGPU_INFO_VIDEO_CAPS_CODEC_IDX_HEVC, is_large ? 8192 : 4096, is_large ? 4352 : 2304, 0);
    }
    memcpy(out, &caps, size < sizeof caps ? size : sizeof caps);
}

static int info(int fd, unsigned long request, void *arg) {
    const struct drm_amdgpu_info *query = arg;
    void *out = (void *)(uintptr_t)query->return_pointer;
    uint32_t type = query->query_hw_ip.type;
    bool is_video = type >= AMDGPU_HW_IP_UVD && type <= AMDGPU_HW_IP_VCN_JPEG;
    if (query->query == AMDGPU_INFO_HW_IP_INFO && is_video) {
        answer_engine(type, query->return_size, out);
        return 0;
    }
    if (query->query == AMDGPU_INFO_VIDEO_CAPS) {
        answer_codecs(query->video_cap.type, query->return_size, out);
        return 0;
    }
    if (query->query == AMDGPU_INFO_FW_VERSION) {
        struct drm_amdgpu_info_firmware firmware = {0};
        switch (query->query_fw.fw_type) {
        case AMDGPU_INFO_FW_VCE: firmware.ver = 53 << 24 | 0 << 16 | 3 << 8; break;
        case AMDGPU_INFO_FW_UVD: firmware.ver = 1 << 24 | 130 << 16 | 16 << 8; break;
        // Decoder interface 1, encoder interface 1.30.
        case AMDGPU_INFO_FW_VCN: firmware.ver = 1 << 24 | 1 << 20 | 30 << 12; break;
        default: return amdgpu_ioctl_info(fd, request, arg);
        }
        memcpy(out, &firmware, query->return_size < sizeof firmware ? query->return_size : sizeof firmware);
        return 0;
    }
    return amdgpu_ioctl_info(fd, request, arg);
}

static int map_address(int fd, unsigned long request, void *arg) {
    const struct drm_amdgpu_gem_va *va = arg;
    struct shim_bo *buffer = buffer_of(fd, va->handle);
    bool isAdded = va->operation == AMDGPU_VA_OP_MAP || va->operation == AMDGPU_VA_OP_REPLACE;
    struct mapping *empty = NULL;
    for (int i = 0; i < MAX_MAPPINGS; i++) {
        struct mapping *entry = &mappings[i];
        if (entry->buffer && entry->address == va->va_address) entry->buffer = NULL;
        if (!entry->buffer && !empty) empty = entry;
    }
    if (isAdded && buffer && empty)
        *empty = (struct mapping){va->va_address, va->map_size, va->offset_in_bo, buffer};
    return 0;
}

/// The bytes at an address of the GPU; null unless one mapped buffer holds all of them.
static uint8_t *at(uint64_t address, uint64_t size) {
    for (int i = 0; i < MAX_MAPPINGS; i++) {
        const struct mapping *entry = &mappings[i];
        if (!entry->buffer || address < entry->address) continue;
        uint64_t offset = address - entry->address;
        if (offset > entry->size || size > entry->size - offset) continue;
        uint8_t *bytes = memory_of(entry->buffer);
        if (bytes && entry->offset + offset + size <= entry->buffer->size) return bytes + entry->offset + offset;
    }
    return NULL;
}

static const struct firmware_interface *interface(uint32_t engine) {
    if (engine == AMDGPU_HW_IP_UVD_ENC) return &firmware_uvd;
    if (engine != AMDGPU_HW_IP_VCN_ENC) return NULL;
    return chip->major == 1 ? &firmware_vcn1 : &firmware_vcn2;
}

static int submit(int fd, unsigned long request, void *arg) {
    union drm_amdgpu_cs *cs = arg;
    const uint64_t *chunks = (const uint64_t *)(uintptr_t)cs->in.chunks;
    for (uint32_t i = 0; i < cs->in.num_chunks; i++) {
        const struct drm_amdgpu_cs_chunk *chunk = (const void *)(uintptr_t)chunks[i];
        if (chunk->chunk_id != AMDGPU_CHUNK_ID_IB) continue;
        const struct drm_amdgpu_cs_chunk_ib *ib = (const void *)(uintptr_t)chunk->chunk_data;
        const struct firmware_interface *of = interface(ib->ip_type);
        const uint32_t *words = of ? (const uint32_t *)at(ib->va_start, ib->ib_bytes) : NULL;
        if (words) firmware_run(of, words, ib->ib_bytes / 4, at);
    }
    static uint64_t sequence;
    cs->out.handle = ++sequence;
    return 0;
}

static void describe(const char *name, const char *text) {
    drm_shim_override_file(text, "/sys/dev/char/%d:%d/device/%s", DRM_MAJOR, render_node_minor, name);
}

void drm_shim_driver_init(void) {
    const char *name = getenv("AMDGPU_GPU_ID");
    for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
        if (name && !strcasecmp(chips[i].name, name)) chip = &chips[i];
    if (!chip) {
        fprintf(stderr, "AMDGPU_GPU_ID names no chip with video engines\n");
        abort();
    }
    // The first description of a file counts; Mesa's follow.
    char text[256];
    snprintf(
        text, sizeof text,
        "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=1002:0B36\nPCI_SLOT_NAME=0000:04:00.0\n",
        chip->pci_id);
    describe("uevent", text);
    snprintf(text, sizeof text, "0x%04x\n", chip->pci_id);
    describe("device", text);
    graphics_driver_init();
    amdgpu_ioctls[DRM_AMDGPU_INFO] = info;
    amdgpu_ioctls[DRM_AMDGPU_GEM_VA] = map_address;
    amdgpu_ioctls[DRM_AMDGPU_CS] = submit;
}
