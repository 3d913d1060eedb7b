// SPDX-License-Identifier: GPL-2.0-or-later
// A libFuzzer target over the reader of movies and the repair of recordings: they may throw but not trap. Built by scripts/fuzz.
import HWDBoxes
import HWMovies

/// Reads what a file says, and the packets of its tracks from the start and from some seek points.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let source = MovieMemory(Array(UnsafeBufferPointer(start: start, count: count)))
    guard let movie = try? Movie(source) else { return 0 }
    // More samples than that take longer than a fuzzer waits.
    if movie.isFragmented, movie.tracks.allSatisfy({ $0.sampleCount < 100_000 }) {
        repair(movie, Array(UnsafeBufferPointer(start: start, count: count)))
    }
    for track in movie.tracks.prefix(8) {
        for entry in track.entries.prefix(8) {
            _ = (entry.color, entry.pixelAspect, entry.cleanAperture, entry.hevc, entry.configuration?.bytes)
            _ = (entry.masteringDisplay, entry.contentLight, entry.iccProfile)
        }
        _ = (track.rotation, track.duration, track.highestLevel, track.groupTypes, track.group("roll", of: 1))
        guard var packets = try? movie.packets(of: track) else { continue }
        read(&packets, 2000, source.length)
        for time in [0, track.duration / 2, track.duration, -1, .max, .min] {
            _ = (packets.seekPoint(atOrBefore: time), packets.seekPoint(after: time))
            packets.seek(to: time)
            read(&packets, 20, source.length)
        }
    }
    return 0
}

/// Finishes a recording as `MovieRepair` does, and checks that the plain movie has the packets that it counts.
private func repair(_ movie: Movie, _ original: [UInt8]) {
    guard let plan = try? RepairPlan(movie, MovieMemory(original), "the file") else { return }
    var bytes = original
    func replace(_ header: [UInt8], at position: UInt64) {
        bytes.replaceSubrange(Int(position)..<Int(position) + header.count, with: header)
    }
    if let header = plan.lastHeader { replace(header.bytes, at: header.position) }
    let end = UInt64(bytes.count + plan.boxes.dropLast().reduce(0) { $0 + $1.size })
    bytes += plan.boxes.flatMap(\.bytes)
    var head = [UInt8](bigEndian: [1, ("mdat" as FourCC).rawValue])
    head.appendBigEndian(end - plan.start)
    replace(head, at: plan.start)
    do throws(MovieError) {
        let finished = try Movie(MovieMemory(bytes))
        let count = finished.tracks.reduce(0) { $0 + $1.sampleCount }
        if finished.isFragmented || finished.isCutShort || count != plan.packetCount {
            fatalError("a repaired movie has \(count) packets, not \(plan.packetCount)")
        }
    } catch { fatalError("a repaired movie cannot be read: \(error)") }
}

/// Checks that packets lie inside of the file and are decoded before they are shown.
private func read(_ packets: inout MoviePackets, _ limit: Int, _ length: UInt64) {
    for _ in 0..<limit {
        do throws(MovieError) {
            guard let packet = try packets.next() else { return }
            // Unlike a precondition, this prints its message in an optimized build.
            if packet.position + UInt64(packet.size) > length || packet.bytes.count != packet.size {
                fatalError("a packet leads outside of the file")
            }
            if packet.decodeTime > packet.time { fatalError("a packet is decoded after it is shown") }
            if !packets.track.entries.indices.contains(packet.entry) { fatalError("a packet has no sample entry") }
        } catch {
            continue
        }
    }
}
