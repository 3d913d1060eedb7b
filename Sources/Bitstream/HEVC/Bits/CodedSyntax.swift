// SPDX-License-Identifier: MIT

/// Syntax that one function reads and writes.
protocol CodedSyntax {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError)
}

extension CodedSyntax {
    /// What `code` writes; throws when a value does not fit its syntax element.
    func coded() throws(BitstreamError) -> [UInt8] {
        var (copy, writer) = (self, BitWriter())
        try copy.code(&writer)
        return writer.bytes
    }
}
