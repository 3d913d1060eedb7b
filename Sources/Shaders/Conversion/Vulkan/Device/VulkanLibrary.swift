// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import Glibc
internal import HWDModel

/// libvulkan.so.1, opened at run time: a program that links it cannot start where it is missing.
///
/// It is never closed, because drivers leave threads and exit handlers behind.
struct VulkanLibrary {
    private let getInstanceProcAddr: PFN_vkGetInstanceProcAddr

    /// Opens the loader.
    ///
    /// - Throws: `CouldNotCreateInstance` with the dynamic linker's reason.
    init() throws(SessionError) {
        guard let library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? "it cannot be opened"
            throw SessionError(.couldNotCreateInstance, "no Vulkan on this machine: \(reason)")
        }
        guard let symbol = dlsym(library, "vkGetInstanceProcAddr") else {
            throw SessionError(.couldNotCreateInstance, "no Vulkan: libvulkan.so.1 is not Vulkan's loader")
        }
        getInstanceProcAddr = unsafeBitCast(symbol, to: PFN_vkGetInstanceProcAddr.self)
    }

    /// Loads a function by its name, of an instance or a global one.
    ///
    /// `Function` must be its PFN type.
    func load<Function>(_ name: String, _ instance: VkInstance? = nil) throws(SessionError) -> Function {
        guard let pointer = getInstanceProcAddr(instance, name) else {
            throw SessionError(.couldNotCreateInstance, "Vulkan's loader has no \(name)")
        }
        return unsafeBitCast(pointer, to: Function.self)
    }
}
