// SPDX-License-Identifier: MIT
public import HWDModel

/// Makes the next frame that names a picture wait for a fence; the sync file comes with the message.
public struct AddFence: SessionPayload, Hashable {
    public static let opcode = Opcode.addFence
    /// The picture.
    public var poolID: UInt32

    public init(poolID: UInt32) { self.poolID = poolID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(poolID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&poolID)
        try fields.reserved(UInt32.self)
    }
}
