// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDSystemd

/// Why a call of D-Bus has no result.
enum BusError: Error {
    /// An errno: of the connection, or of a message that cannot be sent.
    case system(Int32)
    /// Nothing came in time.
    case silent
    /// The other process has ended.
    case gone
    /// The other process, or the bus, refuses the call: the error's name and text.
    case refused(name: String, text: String)
    /// A message that is not of the types that its interface has.
    case malformed
}

/// A value of a message that is sent.
enum BusValue {
    case path(String)
    case text(String)
    case number(UInt32)
    case flag(Bool)
    case options([(key: String, value: BusValue)])

    /// Its type, as D-Bus writes types.
    var signature: String {
        switch self {
        case .path: "o"
        case .text: "s"
        case .number: "u"
        case .flag: "b"
        case .options: "a{sv}"
        }
    }
}

/// A message of D-Bus.
///
/// One that was received may have anything in it: each read names the type that it expects.
final class BusMessage {
    let pointer: OpaquePointer

    /// Takes over a reference.
    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { sd_bus_message_unref(pointer) }

    /// The unique name of the process that sent it.
    var sender: String? { sd_bus_message_get_sender(pointer).map { String(cString: $0) } }

    /// The error that it is, its text cut off; nil for other messages.
    var error: BusError? {
        guard let error = sd_bus_message_get_error(pointer)?.pointee else { return nil }
        let text = error.message.map { String(cString: $0) } ?? ""
        return .refused(name: error.name.map { String(cString: $0) } ?? "", text: String(text.prefix(200)))
    }

    func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .path(let text), .text(let text):
            try check(
                text.withCString { sd_bus_message_append_basic(pointer, value.signature.utf8CString[0], $0) })
        case .number(var number): try check(sd_bus_message_append_basic(pointer, code("u"), &number))
        case .flag(let flag):
            var number: Int32 = flag ? 1 : 0
            try check(sd_bus_message_append_basic(pointer, code("b"), &number))
        case .options(let options):
            try open("a", "{sv}")
            for (key, value) in options {
                try open("e", "sv")
                try append(.text(key))
                try open("v", value.signature)
                try append(value)
                try close()
                try close()
            }
            try close()
        }
    }

    private func open(_ type: Unicode.Scalar, _ contents: String) throws(BusError) {
        try check(sd_bus_message_open_container(pointer, code(type), contents))
    }

    private func close() throws(BusError) { try check(sd_bus_message_close_container(pointer)) }

    private func check(_ result: Int32) throws(BusError) {
        guard result >= 0 else { throw .system(-result) }
    }
}

// What is read, in its order.
extension BusMessage {
    /// Enters a container.
    /// - Returns: false at the end of the array that it would be an element of.
    func enter(_ type: Unicode.Scalar, _ contents: String) throws(BusError) -> Bool {
        let result = sd_bus_message_enter_container(pointer, code(type), contents)
        guard result >= 0 else { throw .malformed }
        return result > 0
    }

    /// Leaves a container whose contents were read.
    func leave() throws(BusError) {
        guard sd_bus_message_exit_container(pointer) >= 0 else { throw .malformed }
    }

    func skip(_ types: String) throws(BusError) {
        guard sd_bus_message_skip(pointer, types) >= 0 else { throw .malformed }
    }

    /// - Parameter type: that of a text, or of another type that is one.
    func readText(_ type: Unicode.Scalar = "s") throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(pointer, code(type), &text) > 0, let text else { throw .malformed }
        return String(cString: text)
    }

    func readNumber() throws(BusError) -> UInt32 {
        var number: UInt32 = 0
        guard sd_bus_message_read_basic(pointer, code("u"), &number) > 0 else { throw .malformed }
        return number
    }

    /// A descriptor, which stays the message's.
    func readFile() throws(BusError) -> Int32 {
        var file: Int32 = -1
        guard sd_bus_message_read_basic(pointer, code("h"), &file) > 0, file >= 0 else { throw .malformed }
        return file
    }

    /// Reads a dictionary: calls `body` with each key, which reads the value, a variant.
    func readOptions(_ body: (String) throws(BusError) -> Void) throws(BusError) {
        guard try enter("a", "{sv}") else { throw .malformed }
        while try enter("e", "sv") {
            try body(try readText())
            try leave()
        }
        try leave()
    }

    /// Reads a variant with a number in it.
    func readVariantNumber() throws(BusError) -> UInt32 {
        guard try enter("v", "u") else { throw .malformed }
        let number = try readNumber()
        try leave()
        return number
    }

    /// Reads a variant with a text in it, or the path of an object.
    func readVariantText() throws(BusError) -> String {
        let type: Unicode.Scalar = sd_bus_message_verify_type(pointer, code("v"), "o") > 0 ? "o" : "s"
        guard try enter("v", String(type)) else { throw .malformed }
        let text = try readText(type)
        try leave()
        return text
    }
}

/// A type as sd-bus has it.
private func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
