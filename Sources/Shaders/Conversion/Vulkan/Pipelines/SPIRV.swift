// SPDX-License-Identifier: GPL-2.0-or-later

/// The compute shaders of `Vulkan/GLSL`, compiled when the package is built: one string for each `.comp` file, eight
/// hexadecimal digits for each word.
enum SPIRV {
    /// The words of a shader.
    static func words(_ digits: StaticString) -> [UInt32] {
        let bytes = UnsafeBufferPointer(start: digits.utf8Start, count: digits.utf8CodeUnitCount)
        return stride(from: 0, to: bytes.count - 7, by: 8).map { start in
            bytes[start..<start + 8].reduce(0) { word, digit in
                word << 4 | UInt32(digit < 0x3A ? digit - 0x30 : digit - 0x61 + 10)
            }
        }
    }
}
