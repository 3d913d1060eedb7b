// SPDX-License-Identifier: MIT
internal import Glibc

/// File names in Strings: Linux's are bytes, which need not be UTF-8.
///
/// A byte that is not part of valid UTF-8 becomes one of the private-use characters U+10FF80…U+10FFFF, so that
/// `bytes` restores every name. Valid UTF-8 of these characters becomes four of them.
public enum FileName {
    private static let firstEscape: UInt32 = 0x10_FF80
    /// The lowest byte that can be invalid in UTF-8, which `firstEscape` represents.
    private static let firstByte: UInt32 = 0x80

    /// A name, or any other text from the system.
    public static func string(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var position = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if scalar.value >= firstEscape {
                    text.append(contentsOf: encoded.map(escape))
                } else {
                    text.append(scalar)
                }
                position += encoded.count
            case .error(let length):
                text.append(contentsOf: bytes[position..<position + length].map(escape))
                position += length
            case .emptyInput: return String(text)
            }
        }
    }

    /// A name, or any other text from the system, that ends with a zero.
    public static func string(_ text: UnsafePointer<CChar>) -> String {
        string((0..<strlen(text)).map { UInt8(bitPattern: text[$0]) })
    }

    /// The bytes of a name and the zero that ends them, for system calls.
    public static func bytes(_ name: String) -> [CChar] {
        var bytes: [CChar] = []
        bytes.reserveCapacity(name.utf8.count + 1)
        for scalar in name.unicodeScalars {
            if let byte = escaped(scalar) {
                bytes.append(CChar(bitPattern: byte))
            } else {
                bytes.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped.map { CChar(bitPattern: $0) })
            }
        }
        return bytes + [0]
    }

    /// Text for one line of a terminal: bytes that are not UTF-8 as `\xE9`, control characters as `\n` or `\x1B`, and
    /// characters that break or reorder lines as `\u{202E}`.
    public static func printable(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if let byte = escaped(scalar) {
                line.append(contentsOf: "\\x\(hexadecimal(UInt32(byte)))".unicodeScalars)
                continue
            }
            switch scalar.value {
            case 0x09: line.append(contentsOf: "\\t".unicodeScalars)
            case 0x0A: line.append(contentsOf: "\\n".unicodeScalars)
            case 0x0D: line.append(contentsOf: "\\r".unicodeScalars)
            case 0..<0x20, 0x7F..<0xA0: line.append(contentsOf: "\\x\(hexadecimal(scalar.value))".unicodeScalars)
            case 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
                line.append(contentsOf: "\\u{\(hexadecimal(scalar.value))}".unicodeScalars)
            default: line.append(scalar)
            }
        }
        return String(line)
    }

    /// Text in which only bytes that are not UTF-8 are replaced, by `prefix` and two hexadecimal digits.
    public static func withoutInvalidBytes(_ text: String, prefix: String) -> String {
        // Most text has none: three bytes of UTF-8 begin all escapes.
        guard text.utf8.contains(0xF4) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard let byte = escaped(scalar) else {
                result.append(scalar)
                continue
            }
            result.append(contentsOf: (prefix + hexadecimal(UInt32(byte))).unicodeScalars)
        }
        return String(result)
    }

    private static func escape(_ byte: UInt8) -> Unicode.Scalar {
        Unicode.Scalar(firstEscape + UInt32(byte) - firstByte).unsafelyUnwrapped
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> UInt8? {
        scalar.value >= firstEscape ? UInt8(scalar.value - firstEscape + firstByte) : nil
    }

    private static func hexadecimal(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return digits.count < 2 ? "0" + digits : digits
    }
}
