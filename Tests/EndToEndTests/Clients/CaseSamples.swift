// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel

/// The samples that the table of sessions defines for each frame.
struct CaseSamples {
    let format: PixelFormat
    let width: Int
    let height: Int

    /// A sample as 8 bits.
    static func value(plane: Int, row: Int, index: Int, frame: Int) -> Int {
        switch plane {
        case 0: 32 + (index + 2 * row + 4 * frame) % 160
        case 1, 2: 96 + (index + row) % 64
        default: 2 * index % 256
        }
    }

    /// The layout of a frame in its slot, and its size in bytes.
    var packed: (layout: FrameLayout, size: Int) { FrameLayout.packed(format, width: width, height: height) }

    /// Writes a frame to its slot.
    func write(frame: Int, to memory: UnsafeMutableRawBufferPointer) {
        for (index, plane) in packed.layout.planes.enumerated() {
            let count = format.rowBytes(plane: index, width: width) / format.bytesPerSample
            for row in 0..<format.rows(plane: index, height: height) {
                let start = Int(plane.offset) + row * Int(plane.stride)
                for column in 0..<count {
                    let value = Self.value(plane: index, row: row, index: column, frame: frame)
                    store(value, to: memory, at: start + column * format.bytesPerSample)
                }
            }
        }
    }

    private func store(_ value: Int, to memory: UnsafeMutableRawBufferPointer, at offset: Int) {
        if format.bytesPerSample == 1 {
            memory[offset] = UInt8(value)
        } else {
            memory.storeBytes(
                of: UInt16(value * unit(of: format)).littleEndian, toByteOffset: offset, as: UInt16.self)
        }
    }

    /// The value of a sample that stands for 1 in 8 bits.
    private func unit(of format: PixelFormat) -> Int {
        switch format {
        case .p010: 256
        case .i010: 4
        default: 1
        }
    }

    /// The mean absolute difference of a picture's plane to a frame, in units of 8 bits, where both have samples.
    func meanError(of picture: DecompressionSession.ReceivedFrame, plane index: Int, frame: Int) -> Double {
        let format = picture.description.format
        let plane = picture.description.layout.planes[index]
        let columns = min(width, Int(picture.description.width))
        let rows = min(height, Int(picture.description.height))
        var sum = 0.0
        for row in 0..<rows {
            for column in 0..<columns {
                let offset = Int(plane.offset) + row * Int(plane.stride) + column * format.bytesPerSample
                let bytes = picture.memory.bytes
                let word =
                    format.bytesPerSample == 1
                    ? Int(bytes[offset])
                    : Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
                let expected = Self.value(plane: index, row: row, index: column, frame: frame)
                sum += abs(Double(word) / Double(unit(of: format)) - Double(expected))
            }
        }
        return sum / Double(columns * rows)
    }
}
