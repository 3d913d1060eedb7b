// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDLinux
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// Memory that a daemon takes for a dma-buf when `Tests/FakeDMABuf` is preloaded, with the planes of a picture.
final class FakeBuffer {
    /// The environment of a daemon that takes such memory.
    static func environment() throws -> [String: String] {
        ["LD_PRELOAD": "\(try SimulatedDriver.library.get())/dmabufs.so"]
    }

    static let guardByte: UInt8 = 0xa5

    let file: OwnedFD
    let bytes: UnsafeMutableRawBufferPointer
    let format: PixelFormat
    let width: Int
    let height: Int
    /// In one dma-buf, with gaps before, between and in rows.
    let planes: [AddPicture.Plane]

    init(_ format: PixelFormat, width: Int, height: Int) throws {
        (self.format, self.width, self.height) = (format, width, height)
        var (planes, end) = ([AddPicture.Plane](), 256)
        for plane in 0..<format.planeCount {
            let stride = format.rowBytes(plane: plane, width: width) + 48
            planes.append(AddPicture.Plane(object: 0, offset: UInt64(end), stride: UInt32(stride)))
            end += stride * format.rows(plane: plane, height: height) + 128
        }
        self.planes = planes
        file = try unsealedMemory(end)
        let start = mmap(nil, end, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawValue, 0)
        bytes = UnsafeMutableRawBufferPointer(start: start, count: end)
        try #require(start != MAP_FAILED)
        bytes.initializeMemory(as: UInt8.self, repeating: Self.guardByte)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }

    /// Its picture.
    func picture(
        _ uses: AddPicture.Uses, _ change: (inout AddPicture, inout [Int32]) -> Void = { _, _ in }
    ) throws -> DMABufPicture {
        var (message, files) = (message(uses), [file.rawValue])
        change(&message, &files)
        return try DMABufPicture(
            fourcc: message.fourcc, width: message.width, height: message.height, modifier: message.modifier,
            uses: message.uses, objects: files, planes: message.planes)
    }

    func message(_ uses: AddPicture.Uses, id: UInt32 = 1) -> AddPicture {
        AddPicture(
            poolID: id, fourcc: format.fourcc, width: UInt32(width), height: UInt32(height), uses: uses,
            planes: planes)
    }

    private var rows: [Range<Int>] {
        planes.enumerated().flatMap { index, plane in
            (0..<format.rows(plane: index, height: height)).map { row in
                let start = Int(plane.offset) + row * Int(plane.stride)
                return start..<start + format.rowBytes(plane: index, width: width)
            }
        }
    }

    /// Writes a frame whose rows have no gaps.
    func fill(_ frame: [UInt8]) {
        var position = 0
        for row in rows {
            let samples = frame[position..<position + row.count]
            UnsafeMutableRawBufferPointer(rebasing: bytes[row]).copyBytes(from: samples)
            position += row.count
        }
    }

    /// The frame without gaps.
    var frame: [UInt8] { rows.flatMap { Array(bytes[$0]) } }

    /// Whether the gaps are as they were.
    var gapsAreUntouched: Bool {
        var inside = [Bool](repeating: false, count: bytes.count)
        for row in rows { for index in row { inside[index] = true } }
        return bytes.indices.allSatisfy { inside[$0] || bytes[$0] == Self.guardByte }
    }
}
