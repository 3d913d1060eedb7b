// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel
internal import Synchronization

/// The validation layer's messages, which may come from any thread.
public final class ValidationLog: Sendable {
    private let kept = Mutex<[String]>([])

    /// The messages so far, oldest first.
    public var messages: [String] { kept.withLock { $0 } }

    func append(_ message: String) { kept.withLock { $0.append(message) } }
}

/// A Vulkan instance; destroyed with this object.
final class VulkanInstance {
    let handle: VkInstance
    let functions: InstanceFunctions
    /// The validation layer's messages, where it is enabled and installed.
    let validation: ValidationLog?
    private let library: VulkanLibrary
    private var messenger: VkDebugUtilsMessengerEXT?

    static let validationLayer = "VK_LAYER_KHRONOS_validation"

    /// Opens the loader and creates an instance.
    ///
    /// - Throws: `CouldNotCreateInstance` without a loader or driver.
    init(validates: Bool = false) throws(SessionError) {
        library = try VulkanLibrary()
        let installed = validates ? try Self.layers(library) : []
        let isValidated = installed.contains(Self.validationLayer)
        let create: PFN_vkCreateInstance = try library.load("vkCreateInstance")
        let layers = isValidated ? [Self.validationLayer] : []
        let extensions = isValidated ? [VK_EXT_DEBUG_UTILS_EXTENSION_NAME] : []
        var made: VkInstance?
        let result = withCStrings(layers) { layers in
            withCStrings(extensions) { extensions in
                var application = VkApplicationInfo()
                application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO
                application.apiVersion = hwd_vk_api_version_1_2()
                return withUnsafePointer(to: application) { application in
                    var info = VkInstanceCreateInfo()
                    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
                    info.pApplicationInfo = application
                    info.enabledLayerCount = UInt32(layers.count)
                    info.ppEnabledLayerNames = layers.baseAddress
                    info.enabledExtensionCount = UInt32(extensions.count)
                    info.ppEnabledExtensionNames = extensions.baseAddress
                    return create(&info, nil, &made)
                }
            }
        }
        if result == VK_ERROR_INCOMPATIBLE_DRIVER {
            throw SessionError(.couldNotCreateInstance, "no Vulkan driver is installed on this machine")
        }
        try check(result, "vkCreateInstance")
        guard let made else { throw SessionError(.couldNotCreateInstance, "vkCreateInstance returned no instance") }
        handle = made
        functions = try InstanceFunctions(library, made)
        validation = isValidated ? ValidationLog() : nil
        if let validation { try listen(validation) }
    }

    deinit {
        if let messenger {
            let destroy: PFN_vkDestroyDebugUtilsMessengerEXT? = try? library.load(
                "vkDestroyDebugUtilsMessengerEXT", handle)
            destroy?(handle, messenger, nil)
        }
        functions.destroyInstance(handle, nil)
    }

    private static func layers(_ library: VulkanLibrary) throws(SessionError) -> [String] {
        let enumerate: PFN_vkEnumerateInstanceLayerProperties = try library.load(
            "vkEnumerateInstanceLayerProperties")
        var count: UInt32 = 0
        try check(enumerate(&count, nil), "vkEnumerateInstanceLayerProperties")
        var layers = [VkLayerProperties](repeating: VkLayerProperties(), count: Int(count))
        try check(enumerate(&count, &layers), "vkEnumerateInstanceLayerProperties")
        return layers.prefix(Int(count)).map { text($0.layerName) }
    }

    /// Collects the validation layer's warnings and errors.
    private func listen(_ log: ValidationLog) throws(SessionError) {
        let create: PFN_vkCreateDebugUtilsMessengerEXT = try library.load("vkCreateDebugUtilsMessengerEXT", handle)
        var info = VkDebugUtilsMessengerCreateInfoEXT()
        info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT
        info.messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT.rawValue
            | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT.rawValue
        info.messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT.rawValue
            | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT.rawValue
        // The instance retains the log and destroys the messenger first.
        info.pUserData = Unmanaged.passUnretained(log).toOpaque()
        info.pfnUserCallback = { _, _, data, user in
            guard let user, let message = data?.pointee.pMessage else { return 0 }
            Unmanaged<ValidationLog>.fromOpaque(user).takeUnretainedValue().append(String(cString: message))
            return 0
        }
        try check(create(handle, &info, nil, &messenger), "vkCreateDebugUtilsMessengerEXT")
    }
}

/// Calls `body` with an array of C strings.
func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let bytes = strings.map { Array($0.utf8CString) }
    func next(_ index: Int, _ pointers: [UnsafePointer<CChar>?]) -> Result {
        guard index < bytes.count else { return pointers.withUnsafeBufferPointer(body) }
        return bytes[index].withUnsafeBufferPointer { next(index + 1, pointers + [$0.baseAddress]) }
    }
    return next(0, [])
}
