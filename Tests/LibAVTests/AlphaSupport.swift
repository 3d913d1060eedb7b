// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCoding
import HWDHEVC
import HWDLibAV
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Synchronization

/// A clip with an alpha layer, as its packets.
struct AlphaClip {
    var description: [UInt8]
    var packets: [[UInt8]]

    /// `Tests/Media/bbb_alpha.mov`: 640x360, 12 pictures, x265 4.3's form of two layers.
    static func committed() throws -> AlphaClip {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Media/bbb_alpha.mov").path
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: path, options: options)
        var packets: [[UInt8]] = []
        while let item = try reader.next() {
            if case .packet(let packet) = item { packets.append(packet.withBytes { Array($0) }) }
        }
        return AlphaClip(description: reader.video.codecConfiguration, packets: packets)
    }

    /// Changes the description's NAL units; removes those that become nil.
    mutating func changeDescription(_ change: ([UInt8]) throws -> [UInt8]?) throws {
        var record = try DecoderConfigurationRecord(bytes: description)
        for index in record.arrays.indices {
            record.arrays[index].nalUnits = try record.arrays[index].nalUnits.compactMap(change)
        }
        description = try record.bytes()
    }

    /// Changes a packet's NAL units; removes those that become nil.
    mutating func change(_ packet: Int, _ change: ([UInt8], NALUnitHeader) throws -> [UInt8]?) throws {
        var (units, changed) = (try LengthPrefixedNALUnits(packets[packet][...]), [UInt8]())
        while let nal = try units.next() {
            guard let new = try change(Array(nal), NALUnitHeader(nal: nal)) else { continue }
            try LengthPrefixedNALUnits.append(new, to: &changed)
        }
        packets[packet] = changed
    }

    /// Removes the alpha layer's NAL units from packets.
    mutating func dropAlpha(from chosen: some Sequence<Int>) throws {
        for packet in chosen { try change(packet) { nal, header in header.nuhLayerId == 0 ? nal : nil } }
    }
}

/// Picture memory for one test.
final class TestMemory: PictureMemory {
    private let slots = Mutex<[Int: FrameSlot]>([:])
    private let last = Mutex(0)

    deinit {
        slots.withLock { for slot in $0.values { slot.base.deallocate() } }
    }

    func allocate(byteCount: Int) -> FrameSlot? {
        let id = last.withLock {
            $0 += 1
            return $0
        }
        let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0x55, count: byteCount)
        let slot = FrameSlot(id: id, base: base, poolOffset: 0, byteCount: byteCount)
        slots.withLock { $0[id] = slot }
        return slot
    }

    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot {
        guard let slot = allocate(byteCount: byteCount) else { throw SessionError(.allocationFailed, "none") }
        return slot
    }

    func free(_ id: Int) {
        let slot = slots.withLock { $0.removeValue(forKey: id) }
        slot?.base.deallocate()
    }

    /// Slots that are lent.
    var count: Int { slots.withLock { $0.count } }

    func planes(_ picture: OutputPicture) -> [[UInt8]] {
        guard let slot = slots.withLock({ $0[picture.slot] }) else { return [] }
        return picture.layout.planes.enumerated().map { index, plane in
            var samples: [UInt8] = []
            let row = picture.format.rowBytes(plane: index, width: picture.width)
            for line in 0..<picture.format.rows(plane: index, height: picture.height) {
                let start = slot.base + Int(plane.offset) + line * Int(plane.stride)
                samples += UnsafeRawBufferPointer(start: start, count: row)
            }
            return samples
        }
    }
}

/// The pictures and events of a decoded clip.
struct AlphaResult {
    var planes: [[[UInt8]]] = []
    var pictures: [OutputPicture] = []
    var alphaFaults: [(packet: Int64, reason: String)] = []
    var faults: [String] = []

    /// Decodes a clip like a session.
    init(_ clip: AlphaClip, threads: Int = 2) throws {
        let format = try StreamFormat(description: clip.description)
        var reader = StreamReader(format, readsAlpha: true)
        var options = HEVCDecoder.Options()
        options.threads = threads
        options.target = .yuva
        let memory = TestMemory()
        let decoder = try AlphaHEVCDecoder(format, options, memory: memory)
        func take(_ event: DecoderEvent) {
            switch event {
            case .picture(let picture, let owner):
                withExtendedLifetime(owner) { planes.append(memory.planes(picture)) }
                pictures.append(picture)
            case .damage(_, let reason): faults.append(reason)
            case .alphaDamage(let packet, let reason): alphaFaults.append((packet, reason))
            }
        }
        for (index, packet) in clip.packets.enumerated() {
            let unit = reader.read(packet)
            if let fault = unit.fault { faults.append(fault.reason) }
            guard !unit.isRefused, !unit.bytes.isEmpty else { continue }
            let input = DecoderInput(base: unit.bytes, alpha: unit.alpha)
            try decoder.decode(input, sequence: Int64(index)) { (event) throws(SessionError) in take(event) }
        }
        try decoder.finish { (event) throws(SessionError) in take(event) }
    }
}

/// MD5 of bytes, by md5sum.
func md5(_ bytes: [UInt8]) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(bytes).write(to: file)
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/md5sum")
    process.arguments = [file.path]
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: text.prefix(32), as: UTF8.self)
}

/// Whether both have the same bytes; much faster than `==` in debug builds.
func same(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count, !a.isEmpty else { return a.isEmpty && b.isEmpty }
    return memcmp(a, b, a.count) == 0
}
