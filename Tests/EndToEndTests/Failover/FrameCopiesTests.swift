// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import Testing

@testable import HWClient

@Suite("What a session keeps of frames whose memory the app has back")
struct FrameCopiesTests {
    /// A frame of the app's, whose planes begin and continue at places of its own, and every byte of its samples.
    private struct Source {
        let memory: SharedMemory
        let layout: FrameLayout
        let samples: [UInt8]

        init(_ format: PixelFormat, width: Int, height: Int, seed: UInt8, padding: Int) throws {
            var planes: [FrameLayout.Plane] = []
            var end = padding
            for index in 0..<format.planeCount {
                let stride = format.rowBytes(plane: index, width: width) + padding
                planes.append(FrameLayout.Plane(offset: UInt64(end), stride: UInt32(stride)))
                end += stride * format.rows(plane: index, height: height) + padding
            }
            layout = FrameLayout(planes: planes)
            memory = try SharedMemory(creating: "test-frame", size: end)
            let bytes = try #require(memory.mutableBytes)
            var value = seed
            for index in bytes.indices {
                value = value &* 109 &+ 89
                bytes[index] = value
            }
            samples = FrameCopiesTests.samples(memory, layout, format, width, height)
        }
    }

    /// The samples of a frame, row by row.
    private static func samples(
        _ memory: SharedMemory, _ layout: FrameLayout, _ format: PixelFormat, _ width: Int, _ height: Int
    ) -> [UInt8] {
        layout.planes.enumerated().flatMap { index, plane in
            (0..<format.rows(plane: index, height: height)).flatMap { row in
                let start = Int(plane.offset) + row * Int(plane.stride)
                return Array(memory.bytes[start..<start + format.rowBytes(plane: index, width: width)])
            }
        }
    }

    static let cases: [(format: PixelFormat, width: Int, height: Int)] = [
        (.nv12, 64, 48), (.yu12, 322, 182), (.p010, 642, 362), (.nv12, 1280, 720),
    ]

    @Test("A process that is sent a copy reads the samples that the app's memory no longer has", arguments: cases)
    func samples(format: PixelFormat, width: Int, height: Int) throws {
        let copies = try #require(FrameCopies(format, width: width, height: height, count: 6))
        var kept: [(copy: FrameCopies.Copy, samples: [UInt8])] = []
        func keep(_ number: Int) throws {
            // 6 bytes: few rows begin at a multiple of a cache line.
            let source = try Source(
                format, width: width, height: height, seed: UInt8(number), padding: number % 3 == 0 ? 0 : 6)
            kept.append((try copies.copy(source.layout, in: source.memory), source.samples))
            source.memory.mutableBytes?.initializeMemory(as: UInt8.self, repeating: 0)
        }
        func check(_ numbers: Range<Int>) throws {
            let memory = try #require(copies.startSharing())
            for number in numbers {
                copies.share(kept[number].copy)
                let found = Self.samples(memory, kept[number].copy.layout, format, width, height)
                #expect(found == kept[number].samples, "copy \(number)")
            }
        }
        for number in 0..<4 { try keep(number) }
        // A copy whose packet comes leaves its slot to another frame.
        copies.free(kept[1].copy)
        try keep(4)
        #expect(kept[4].copy.slot == kept[1].copy.slot)
        // One process reads two frames and fails; another reads the rest, and what was copied meanwhile.
        try check(2..<4)
        try keep(5)
        try check(2..<6)
        copies.free(kept[3].copy)
        try keep(6)
        try check(4..<7)
        try check(0..<1)
        #expect(Set(kept.indices.filter { $0 != 1 && $0 != 3 }.map { kept[$0].copy.slot }).count == 5)
    }

    @Test("No shared memory is used before a process fails")
    func sharing() throws {
        let source = try Source(.nv12, width: 640, height: 360, seed: 1, padding: 0)
        let copies = try #require(FrameCopies(.nv12, width: 640, height: 360, count: 6))
        let copy = try copies.copy(source.layout, in: source.memory)
        let pool = try #require(copies.pool)
        #expect(pool.memory.allocatedBytes == 0)
        _ = copies.startSharing()
        copies.share(copy)
        #expect(pool.memory.allocatedBytes >= UInt64(copies.frameSize))
    }

    @Test("A layout beyond its memory is not copied, and no more frames than there are slots")
    func refusals() throws {
        let source = try Source(.nv12, width: 64, height: 48, seed: 1, padding: 0)
        let copies = try #require(FrameCopies(.nv12, width: 64, height: 48, count: 6))
        #expect(throws: FrameCopies.Failure.impossible) {
            try copies.copy(source.layout.moved(by: 1), in: source.memory)
        }
        copies.free(try copies.copy(source.layout, in: source.memory))
        for _ in 0..<(try #require(copies.pool).slotCount) { _ = try copies.copy(source.layout, in: source.memory) }
        #expect(throws: FrameCopies.Failure.full) { try copies.copy(source.layout, in: source.memory) }
        #expect(FrameCopies(.nv12, width: 8192, height: 4320, count: 12) == nil)
    }
}
