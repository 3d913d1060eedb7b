// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite("The memory of sessions")
struct SessionMemoryTests {
    private static let mebibyte: UInt64 = 1 << 20

    private func memory(_ kind: SessionKind, _ width: Int, _ height: Int, limit: UInt64? = nil) -> SessionMemory {
        SessionMemory(
            kind, picture: SessionMemory.pictureBytes(width: width, height: height), processors: 2, limit: limit)
    }

    @Test("A bound is a number of bytes, of pictures with two bytes a sample, and of thread stacks")
    func bounds() {
        #expect(SessionMemory.pictureBytes(width: 1920, height: 1080) == 6_220_800)
        let encoder = memory(.compression, 1920, 1080)
        #expect(encoder.bound == (256 + 2 * 16) * Self.mebibyte + 400 * 6_220_800)
        #expect(encoder.initial == 24 * Self.mebibyte + 16 * 6_220_800)
        #expect(memory(.decompression, 1920, 1080).bound == (512 + 2 * 16) * Self.mebibyte + 40 * 6_220_800)
        #expect(memory(.transfer, 1920, 1080).bound == (512 + 2 * 16) * Self.mebibyte + 40 * 6_220_800)
    }

    /// Peaks of `VmData` and `RssAnon` on two processors, in MiB; docs/admin.md says of what.
    @Test(
        "Every measured session fits its bound and takes no less than it is granted at first",
        arguments: [
            (SessionKind.compression, 64, 64, 54, 16), (.compression, 1280, 720, 158, 115),
            (.compression, 1920, 1080, 816, 665), (.compression, 3840, 2160, 1380, 1264),
        ])
    func measured(_ kind: SessionKind, _ width: Int, _ height: Int, _ data: UInt64, _ resident: UInt64) {
        let memory = memory(kind, width, height)
        #expect(memory.bound > data * Self.mebibyte)
        #expect(memory.initial < (resident + 16) * Self.mebibyte)
    }

    @Test("No session may have more than its user, apart from its threads' stacks")
    func limit() {
        #expect(memory(.compression, 7680, 4320, limit: 1 << 30).bound == (1024 + 2 * 16) * Self.mebibyte)
        #expect(memory(.compression, 64, 64, limit: 1 << 40).bound < 1 << 30)
    }

    @Test("CUDA's reserve is within the user's limit")
    func reserve() {
        func bound(_ limit: UInt64?, _ encodesWithCUDA: Bool) -> UInt64 {
            let picture = SessionMemory.pictureBytes(width: 64, height: 64)
            return SessionMemory(
                .compression, picture: picture, encodesWithCUDA: encodesWithCUDA, processors: 2, limit: limit
            ).bound
        }
        #expect(bound(nil, true) == bound(nil, false) + 512 * Self.mebibyte)
        #expect(bound(128 << 20, true) == (128 + 2 * 16) * Self.mebibyte)
    }

    @Test("A converter's pictures count: half floats, its target, and what a GPU may copy")
    func converters() {
        let (large, small) = (
            TransferSide(format: .yuva, width: 1920, height: 1080),
            TransferSide(format: .yuva, width: 960, height: 540)
        )
        let halves = ConverterMemory(from: large, to: small, passesHalves: true, ownsTarget: true)
        let target = UInt64(FrameLayout.packed(.yuva, width: 960, height: 540).size)
        let source = UInt64(FrameLayout.packed(.yuva, width: 1920, height: 1080).size)
        #expect(halves.least == 8 * 1920 * 1080 + target)
        #expect(halves.most == 8 * (1920 * 1080 + 960 * 540) + source + 2 * target + 16 * 960 * 1080)
        let direct = ConverterMemory(from: large, to: small, passesHalves: false, ownsTarget: false)
        #expect(direct.least == 0 && direct.most == halves.most)
        let picture = SessionMemory.pictureBytes(width: 960, height: 540)
        let (with, without) = (
            SessionMemory(.compression, picture: picture, converter: halves, processors: 2),
            SessionMemory(.compression, picture: picture, processors: 2)
        )
        #expect(with.initial == without.initial + halves.least && with.bound == without.bound + halves.most)
        for width in [0, -1, 16385, .max, .min] {
            let side = TransferSide(format: .nv12, width: width, height: 64)
            for (from, to) in [(side, small), (small, side)] {
                #expect(
                    ConverterMemory(from: from, to: to, passesHalves: true, ownsTarget: true) == ConverterMemory())
            }
        }
    }

    @Test("Impossible sizes count as unknown, and no claim overflows")
    func hostile() {
        for (width, height) in [(0, 64), (-1, 64), (64, .max), (.min, .max), (16385, 1)] {
            #expect(SessionMemory.pictureBytes(width: width, height: height) == 0)
        }
        let largest = SessionMemory(.compression, picture: .max, processors: 4096)
        #expect(largest == SessionMemory(.compression, picture: 16384 * 16384 * 3, processors: 4096))
        #expect(SessionMemory(.decompression, picture: 0, processors: -1).bound == 512 * Self.mebibyte)
    }

    @Test(
        "Amounts are whole MiB with separators, rounded up",
        arguments: [
            (0, "0 MiB"), (1, "1 MiB"), (1 << 20, "1 MiB"), (1234 << 20, "1,234 MiB"),
            (UInt64(1_234_567) << 20, "1,234,567 MiB"), ((100 << 20) + 1, "101 MiB"),
        ] as [(UInt64, String)])
    func text(_ bytes: UInt64, _ expected: String) { #expect(SessionMemory.text(bytes) == expected) }
}
