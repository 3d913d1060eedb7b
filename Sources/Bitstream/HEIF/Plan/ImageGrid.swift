// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The body of a `grid` item (ISO/IEC 23008-12 6.6.2.3): pictures of one size, in rows from the top left.
public struct ImageGrid: Hashable, Sendable {
    /// 1…256.
    public var rows: Int
    /// 1…256.
    public var columns: Int
    /// The size of the picture; what the tiles have beyond it is not shown.
    public var width: Int
    public var height: Int

    public init(rows: Int, columns: Int, width: Int, height: Int) {
        self.rows = rows
        self.columns = columns
        self.width = width
        self.height = height
    }

    /// Reads the body of an item.
    init(_ bytes: [UInt8], item: UInt32) throws(HEIFError) {
        guard bytes.first == 0, let flags = bytes.bigEndian(at: 1, 1), let rows = bytes.bigEndian(at: 2, 1),
            let columns = bytes.bigEndian(at: 3, 1), case let size = flags & 1 == 1 ? 4 : 2,
            let width = bytes.bigEndian(at: 4, size), let height = bytes.bigEndian(at: 4 + size, size)
        else { throw HEIFError(.malformed, "the description of grid \(item) is cut off or of another version") }
        self.init(rows: Int(rows) + 1, columns: Int(columns) + 1, width: Int(width), height: Int(height))
        guard (1...HEIFLimits.side).contains(self.width), (1...HEIFLimits.side).contains(self.height) else {
            throw HEIFError(.limit, "grid \(item) has a size of \(width)x\(height)")
        }
    }

    /// The item's body, with sizes of 16 bits where they suffice.
    var bytes: [UInt8] {
        let isWide = max(width, height) > 0xFFFF
        var bytes: [UInt8] = [0, isWide ? 1 : 0, UInt8(rows - 1), UInt8(columns - 1)]
        for side in [width, height] {
            if isWide {
                bytes.appendBigEndian(UInt32(side))
            } else {
                bytes.appendBigEndian(UInt16(side))
            }
        }
        return bytes
    }
}

/// The body of an `iovl` item (ISO/IEC 23008-12 6.6.2.2): pictures painted over each other on a canvas.
public struct ImageOverlay: Hashable, Sendable {
    /// The canvas where no picture is: red, green, blue and opacity in 16 bits, in the color space of the item.
    public var fill: [UInt16]
    public var width: Int
    public var height: Int
    /// Where the left top of each picture is, in the order of painting; they may be outside of the canvas.
    public var positions: [(x: Int, y: Int)]

    public static func == (left: ImageOverlay, right: ImageOverlay) -> Bool {
        left.fill == right.fill && left.width == right.width && left.height == right.height
            && left.positions.elementsEqual(right.positions, by: ==)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(fill)
        for (x, y) in positions + [(width, height)] {
            hasher.combine(x)
            hasher.combine(y)
        }
    }

    /// Reads the body of an item with a number of inputs.
    init(_ bytes: [UInt8], inputs: Int, item: UInt32) throws(HEIFError) {
        do throws(BoxError) {
            var fields = BoxFields("iovl", bytes[...])
            guard try fields.int(1) == 0 else { throw BoxError("its version is not 0") }
            let size = try fields.int(1) & 1 == 1 ? 4 : 2
            var fill: [UInt16] = []
            for _ in 0..<4 { fill.append(UInt16(try fields.number(2))) }
            self.fill = fill
            (width, height) = (try fields.int(size), try fields.int(size))
            positions = []
            func signed(_ value: UInt64) -> Int {
                size == 4 ? Int(Int32(truncatingIfNeeded: value)) : Int(Int16(truncatingIfNeeded: value))
            }
            guard inputs * 2 * size <= fields.left else { throw BoxError("it has no position for an input") }
            for _ in 0..<inputs {
                let x = signed(try fields.number(size))
                positions.append((x, signed(try fields.number(size))))
            }
        } catch {
            throw HEIFError(.malformed, "the description of overlay \(item) cannot be read: \(error.reason)")
        }
        guard (1...HEIFLimits.side).contains(width), (1...HEIFLimits.side).contains(height) else {
            throw HEIFError(.limit, "overlay \(item) has a size of \(width)x\(height)")
        }
    }
}

extension HEIFFile {
    /// The description of a grid.
    ///
    /// - Throws: what `data` throws; `malformed` or `limit` for a description that cannot be used.
    public func grid(_ id: UInt32, from source: some ByteSource) throws(HEIFError) -> ImageGrid {
        try ImageGrid(try data(of: id, from: source, limit: HEIFLimits.derivationSize), item: id)
    }
}
