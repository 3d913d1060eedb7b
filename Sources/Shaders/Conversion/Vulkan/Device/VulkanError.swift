// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVulkan
internal import HWDModel

/// Throws a session's error for a failed Vulkan call.
func check(_ result: VkResult, _ call: String) throws(SessionError) {
    guard result != VK_SUCCESS else { return }
    switch result {
    case VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_TOO_MANY_OBJECTS:
        throw SessionError(.allocationFailed, "Vulkan: \(call) ran out of memory (\(result.rawValue))")
    case VK_ERROR_DEVICE_LOST:
        throw SessionError(.pixelTransferNotSupported, "Vulkan: the device was lost in \(call)")
    default:
        throw SessionError(.couldNotCreateInstance, "Vulkan: \(call) failed (VkResult \(result.rawValue))")
    }
}

/// The text of a C character array, which Swift imports as a tuple.
func text<Tuple>(_ characters: Tuple) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// `VK_TRUE` or `VK_FALSE`.
extension VkBool32 {
    init(_ value: Bool) { self = value ? 1 : 0 }
}
