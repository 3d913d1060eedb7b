// SPDX-License-Identifier: GPL-2.0-or-later
// What a GPU's bus needs for frames: copies from and to imported host memory by the GPU's own engines, both ways at once, with
// two frames in flight. Conversions in place cannot be much faster (docs/performance.md).
//
// Usage: bus-copies BYTES_UP:BYTES_DOWN...; prints one JSON object, with the median of milliseconds for each argument.
// Builds with: cc -O2 -Wall -Wextra bus-copies.c -o bus-copies -lvulkan
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { SLOTS = 2, BATCHES = 5, FRAMES = 20, UP = 0, DOWN = 1 };

static VkPhysicalDevice physical;
static VkDevice device;
static VkPhysicalDeviceMemoryProperties types;
static uint32_t family;
static VkQueue queues[2];
static VkCommandPool pool;

static void fail(const char *what, int code) {
    fprintf(stderr, "bus-copies: %s: %d\n", what, code);
    exit(1);
}
#define CHECK(call) do { VkResult result_ = (call); if (result_ < 0) fail(#call, result_); } while (0)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The first GPU, and its family of queues that only copy, or else the first of all.
static void open_device(char *name, size_t size) {
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkInstance instance;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    VkPhysicalDevice found[8];
    uint32_t count = 8;
    CHECK(vkEnumeratePhysicalDevices(instance, &count, found));
    if (!count) fail("no device", 0);
    VkPhysicalDeviceProperties properties;
    for (uint32_t i = count; i-- > 0;) {
        vkGetPhysicalDeviceProperties(found[i], &properties);
        if (!physical || properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) physical = found[i];
    }
    vkGetPhysicalDeviceProperties(physical, &properties);
    snprintf(name, size, "%s", properties.deviceName);
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    VkQueueFamilyProperties families[16];
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = count; i-- > 0;) {
        VkQueueFlags work = families[i].queueFlags & ~(VkQueueFlags)VK_QUEUE_SPARSE_BINDING_BIT;
        if (work == VK_QUEUE_TRANSFER_BIT) family = i;
    }
    uint32_t queueCount = families[family].queueCount < 2 ? 1 : 2;
    float priorities[2] = {1, 1};
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family, .queueCount = queueCount,
        .pQueuePriorities = priorities};
    const char *extension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    VkDeviceCreateInfo deviceInfo = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
        .enabledExtensionCount = 1, .ppEnabledExtensionNames = &extension};
    CHECK(vkCreateDevice(physical, &deviceInfo, NULL, &device));
    for (uint32_t i = 0; i < 2; i++) vkGetDeviceQueue(device, family, i % queueCount, &queues[i]);
    VkCommandPoolCreateInfo poolInfo = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    CHECK(vkCreateCommandPool(device, &poolInfo, NULL, &pool));
}

// A buffer in the device's memory, or in these pages.
static VkBuffer make_buffer(size_t size, void *pages) {
    const VkExternalMemoryHandleTypeFlagBits kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = kind};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = pages ? &external : NULL, .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkMemoryHostPointerPropertiesEXT pointer = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    uint32_t allowed = needs.memoryTypeBits;
    if (pages) {
        PFN_vkGetMemoryHostPointerPropertiesEXT query =
            (PFN_vkGetMemoryHostPointerPropertiesEXT)vkGetDeviceProcAddr(device, "vkGetMemoryHostPointerPropertiesEXT");
        CHECK(query(device, kind, pages, &pointer));
        allowed &= pointer.memoryTypeBits;
    }
    VkMemoryPropertyFlags wanted = pages ? VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    uint32_t type = 0;
    while (type < types.memoryTypeCount
           && !((allowed >> type & 1) && (types.memoryTypes[type].propertyFlags & wanted) == wanted))
        type++;
    if (type == types.memoryTypeCount) fail("no type of memory", (int)allowed);
    VkImportMemoryHostPointerInfoEXT source = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = kind, .pHostPointer = pages};
    VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = pages ? &source : NULL,
        .allocationSize = pages ? size : needs.size, .memoryTypeIndex = type};
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device, &allocation, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    return buffer;
}

static void *make_pages(size_t size) {
    int file = memfd_create("frames", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)size)) fail("memfd_create", file);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) fail("mmap", 0);
    close(file);
    // Untouched pages take ten times as long to import.
    memset(pages, 1, size);
    return pages;
}

static double measure(const size_t bytes[2], VkBuffer host[2], VkBuffer local[2], size_t slot) {
    VkCommandBuffer commands[SLOTS][2];
    VkFence fences[SLOTS][2];
    for (size_t s = 0; s < SLOTS; s++) {
        VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 2};
        CHECK(vkAllocateCommandBuffers(device, &info, commands[s]));
        for (int way = UP; way <= DOWN; way++) {
            VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
            CHECK(vkCreateFence(device, &fence, NULL, &fences[s][way]));
            VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
            CHECK(vkBeginCommandBuffer(commands[s][way], &begin));
            VkBufferCopy region = {s * slot, s * slot, bytes[way]};
            VkBuffer from = way == UP ? host[UP] : local[DOWN], to = way == UP ? local[UP] : host[DOWN];
            if (bytes[way]) vkCmdCopyBuffer(commands[s][way], from, to, 1, &region);
            CHECK(vkEndCommandBuffer(commands[s][way]));
        }
    }
    double times[BATCHES];
    for (int batch = -1; batch < BATCHES; batch++) {
        double start = now();
        for (int frame = 0; frame < FRAMES + SLOTS; frame++) {
            int s = frame % SLOTS;
            if (frame >= SLOTS) {
                CHECK(vkWaitForFences(device, 2, fences[s], VK_TRUE, 10000000000u));
                CHECK(vkResetFences(device, 2, fences[s]));
            }
            for (int way = UP; way <= DOWN && frame < FRAMES; way++) {
                VkSubmitInfo info = {
                    .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands[s][way]};
                CHECK(vkQueueSubmit(queues[way], 1, &info, fences[s][way]));
            }
        }
        // The first batch is not counted.
        if (batch >= 0) times[batch] = (now() - start) / FRAMES;
    }
    qsort(times, BATCHES, sizeof *times, ascending);
    return times[BATCHES / 2];
}

int main(int argc, char **argv) {
    size_t slot = 4096;
    for (int i = 1; i < argc; i++) {
        size_t bytes[2] = {0, 0};
        if (sscanf(argv[i], "%zu:%zu", &bytes[UP], &bytes[DOWN]) != 2) fail(argv[i], 64);
        for (int way = UP; way <= DOWN; way++)
            if (bytes[way] > slot) slot = (bytes[way] + 65535) & ~(size_t)65535;
    }
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    open_device(name, sizeof name);
    VkBuffer host[2], local[2];
    for (int way = UP; way <= DOWN; way++) {
        host[way] = make_buffer(SLOTS * slot, make_pages(SLOTS * slot));
        local[way] = make_buffer(SLOTS * slot, NULL);
    }
    printf("{\"device\": \"%s\"", name);
    for (int i = 1; i < argc; i++) {
        size_t bytes[2];
        sscanf(argv[i], "%zu:%zu", &bytes[UP], &bytes[DOWN]);
        printf(", \"%s\": %.3f", argv[i], measure(bytes, host, local, slot));
    }
    printf("}\n");
    return 0;
}
