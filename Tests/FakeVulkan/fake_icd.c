// SPDX-License-Identifier: GPL-2.0-or-later
// A Vulkan driver for tests: lavapipe presented as a GPU. The file's name selects its behaviour and PCI bus:
// fake-MODE-BUS.so, BUS being the hexadecimal PCI bus. FAKE_VULKAN_DRIVER is lavapipe's library. Modes:
//
//   gpu      a discrete GPU that converts right
//   shared   the same, but integrated
//   timed    a discrete GPU of a driver that does not present itself as lavapipe's, so that probes measure its speed
//   wrong    a discrete GPU whose shaders write nothing
//   old      a discrete GPU of Vulkan 1.0
//   empty    starts and has no device
//   crash, hang    in vkCreateInstance
//   late-crash, late-hang    in vkCreateDevice, after it has reported its features
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))

typedef PFN_vkVoidFunction (*Get)(VkInstance, const char *);

static char mode[32];
static unsigned bus;
static Get get_real;
static VkInstance last_instance;

/// Reads the file's own name, and opens the driver that does the work.
static void start(void) {
    if (mode[0]) return;
    Dl_info own;
    if (!dladdr((void *)start, &own)) abort();
    const char *name = strrchr(own.dli_fname, '/');
    name = name ? name + 1 : own.dli_fname;
    const char *last = strrchr(name, '-');
    if (strncmp(name, "fake-", 5) || !last || last <= name + 5 || (size_t)(last - name) >= sizeof mode) abort();
    memcpy(mode, name + 5, (size_t)(last - name) - 5);
    bus = (unsigned)strtoul(last + 1, NULL, 16);
    const char *driver = getenv("FAKE_VULKAN_DRIVER");
    void *library = dlopen(driver ? driver : "libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
    if (library) get_real = (Get)dlsym(library, "vk_icdGetInstanceProcAddr");
}

static int is(const char *name) { return !strcmp(mode, name); }

/// The driver's own function, which exists as far as these tests go.
static PFN_vkVoidFunction real(VkInstance instance, const char *name) {
    return get_real ? get_real(instance, name) : NULL;
}

/// What a mode does where it is to fail.
static void misbehave(const char *crash, const char *hang) {
    if (is(crash)) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (is(hang)) for (;;) pause();
}

static VkResult create_instance(
    const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator, VkInstance *instance) {
    misbehave("crash", "hang");
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)real(NULL, "vkCreateInstance");
    if (!create) return VK_ERROR_INCOMPATIBLE_DRIVER;
    VkResult result = create(info, allocator, instance);
    if (result == VK_SUCCESS) last_instance = *instance;
    return result;
}

static VkResult create_device(
    VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator,
    VkDevice *device) {
    misbehave("late-crash", "late-hang");
    return ((PFN_vkCreateDevice)real(last_instance, "vkCreateDevice"))(physical, info, allocator, device);
}

static VkResult no_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
    (void)instance, (void)devices;
    *count = 0;
    return VK_SUCCESS;
}

/// A device's properties in other clothes.
static void dress(VkPhysicalDeviceProperties *properties) {
    properties->deviceType =
        is("shared") ? VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU : VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (is("old")) properties->apiVersion = VK_API_VERSION_1_0;
    snprintf(properties->deviceName, sizeof properties->deviceName, "Fake %s GPU %02x", mode, bus);
}

static void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *found) {
    ((PFN_vkGetPhysicalDeviceProperties)real(last_instance, "vkGetPhysicalDeviceProperties"))(device, found);
    dress(found);
}

static void properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *found) {
    ((PFN_vkGetPhysicalDeviceProperties2)real(last_instance, "vkGetPhysicalDeviceProperties2"))(device, found);
    dress(&found->properties);
    for (VkBaseOutStructure *next = found->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT) {
            VkPhysicalDevicePCIBusInfoPropertiesEXT *place = (void *)next;
            place->pciDomain = place->pciDevice = place->pciFunction = 0;
            place->pciBus = bus;
        }
        if (is("timed") && next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
            strcpy(((VkPhysicalDeviceDriverProperties *)next)->driverName, "Fake");
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
            ((VkPhysicalDeviceIDProperties *)next)->deviceUUID[0] = (uint8_t)bus;
    }
}

/// The driver's extensions and the one about the bus.
static VkResult extensions(
    VkPhysicalDevice device, const char *layer, uint32_t *count, VkExtensionProperties *list) {
    PFN_vkEnumerateDeviceExtensionProperties enumerate = (PFN_vkEnumerateDeviceExtensionProperties)real(
        last_instance, "vkEnumerateDeviceExtensionProperties");
    uint32_t own = 0;
    VkResult result = enumerate(device, layer, &own, NULL);
    if (result != VK_SUCCESS) return result;
    if (!list) {
        *count = own + 1;
        return VK_SUCCESS;
    }
    if (*count < own + 1) return VK_INCOMPLETE;
    result = enumerate(device, layer, &own, list);
    strcpy(list[own].extensionName, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    list[own].specVersion = VK_EXT_PCI_BUS_INFO_SPEC_VERSION;
    *count = own + 1;
    return result;
}

static void dispatch_nothing(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    (void)buffer, (void)x, (void)y, (void)z;
}

static PFN_vkVoidFunction device_function(VkDevice device, const char *name) {
    if (is("wrong") && !strcmp(name, "vkCmdDispatch")) return (PFN_vkVoidFunction)dispatch_nothing;
    PFN_vkGetDeviceProcAddr get = (PFN_vkGetDeviceProcAddr)real(last_instance, "vkGetDeviceProcAddr");
    return get ? get(device, name) : NULL;
}

EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    if (*version > 5) *version = 5;
    return VK_SUCCESS;
}

EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
    start();
    const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } own[] = {
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
        {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)properties},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)properties2},
        {"vkGetPhysicalDeviceProperties2KHR", (PFN_vkVoidFunction)properties2},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)extensions},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function},
    };
    if (is("empty") && !strcmp(name, "vkEnumeratePhysicalDevices")) return (PFN_vkVoidFunction)no_devices;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (!strcmp(name, own[i].name)) return own[i].function;
    return real(instance, name);
}
