// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import Testing

/// What the table expects of a session's results.
extension CaseRunner {
    func checkPackets(_ members: CaseMembers) throws {
        let packets = client.coded
        let descriptions = packets.map(\.description)
        let frames = descriptions.map { Int($0.pts / CaseClient.duration) }
        #expect(packets.count == (try members.required("count")))
        #expect(descriptions.map(\.pts).sorted() == client.sent.map { Int64($0) * CaseClient.duration })
        #expect(zip(descriptions, descriptions.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(descriptions.allSatisfy { $0.dts <= $0.pts && $0.duration == CaseClient.duration })
        if let keyFrames = try members.ints("key_frames") {
            let found = descriptions.filter { $0.flags.contains(.sync) }.map { Int($0.pts / CaseClient.duration) }
            #expect(found.sorted() == keyFrames)
        }
        if let levels = try members.ints("temporal_ids") {
            #expect(Set(descriptions.map { Int($0.temporalID) }).sorted() == levels)
        }
        if let count = try members.int("base_level_count") {
            #expect(descriptions.count { $0.temporalID == 0 } == count)
        }
        if let layers = try members.ints("layers") {
            #expect(packets.allSatisfy { Self.layers(of: $0.bytes) == Set(layers) })
        }
        let hasErrors = try members.bool("has_errors") ?? false
        #expect(packets.allSatisfy { ($0.meanSquaredError != nil) == hasErrors })
        try members.each("contain") { entry in
            let frame = try entry.required("frame")
            let index = try #require(frames.firstIndex(of: frame))
            let bytes = try entry.bytes("bytes")
            #expect(packets[index].bytes.contains(bytes), "the packet of frame \(frame)")
        }
    }

    /// nuh_layer_id of the slices of a packet (H.265, 7.3.1.2).
    private static func layers(of sample: [UInt8]) -> Set<Int> {
        var layers: Set<Int> = []
        var position = 0
        while position + 6 <= sample.count {
            let size = sample[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            if sample[position + 4] >> 1 & 63 < 32 {
                layers.insert(Int(sample[position + 4] & 1) << 5 | Int(sample[position + 5] >> 3))
            }
            position += 4 + size
        }
        return layers
    }

    func checkPictures(_ members: CaseMembers) throws {
        let pictures = client.pictures
        let descriptions = pictures.map(\.description)
        #expect(zip(descriptions, descriptions.dropFirst()).allSatisfy { $0.pts < $1.pts })
        if let count = try members.int("count") { #expect(pictures.count == count) }
        if let count = try members.int("min_count") { #expect(pictures.count >= count) }
        if let width = try members.int("width") { #expect(descriptions.allSatisfy { Int($0.width) == width }) }
        if let height = try members.int("height") { #expect(descriptions.allSatisfy { Int($0.height) == height }) }
        if let format = try members.string("pixel_format") {
            #expect(descriptions.allSatisfy { $0.format.rawValue == format })
        }
        if let limit = try members.int("max_luma_error") {
            #expect(pictures.allSatisfy { $0.lumaError <= Double(limit) }, "\(pictures.map(\.lumaError))")
        }
        if let limit = try members.int("max_alpha_error") {
            #expect(pictures.allSatisfy { ($0.alphaError ?? .infinity) <= Double(limit) })
        }
        try checkMetadata(members, descriptions)
        try checkDamage(members, descriptions)
        try checkReports(members)
    }

    private func checkMetadata(_ members: CaseMembers, _ descriptions: [FrameDecoded]) throws {
        for (name, flag) in [("has_alpha", FrameDecoded.Flags.alpha), ("premultiplied", .premultiplied)] {
            guard let expected = try members.bool(name) else { continue }
            #expect(descriptions.allSatisfy { $0.flags.contains(flag) == expected }, "\(name)")
        }
        let points: [(String, KeyPath<ColorDescription, UInt8>)] = [
            ("primaries", \.primaries), ("transfer", \.transfer), ("matrix", \.matrix),
        ]
        for (name, point) in points {
            guard let expected = try members.int(name) else { continue }
            #expect(descriptions.allSatisfy { Int($0.color[keyPath: point]) == expected }, "\(name)")
        }
        try members.each("side_data") { entry in
            let index = try entry.required("picture")
            let sideData = try entry.sideData()
            try #require(index < descriptions.count)
            #expect(descriptions[index].sideData.contains(sideData))
        }
    }

    private func checkDamage(_ members: CaseMembers, _ descriptions: [FrameDecoded]) throws {
        for (name, isDamaged) in [("damaged", true), ("undamaged", false)] {
            for number in try members.ints(name) ?? [] {
                let picture = descriptions.first { $0.pts == Int64(number) * CaseClient.duration }
                #expect(picture?.flags.contains(.damaged) == isDamaged, "frame \(number)")
            }
        }
    }

    private func checkReports(_ members: CaseMembers) throws {
        let reports = client.reports
        if let count = try members.int("reports") { #expect(reports.count == count) }
        if let status = try members.int("report_status") {
            #expect(reports.allSatisfy { Int($0.status.rawValue) == status })
        }
        if let isAbove = try members.bool("above_level") {
            #expect(reports.allSatisfy { $0.flags.contains(.aboveLevel) == isAbove })
        }
        if let isReported = try members.bool("damage_reported") {
            #expect(reports.contains { $0.status == .videoDecoderBadData } == isReported)
        }
    }

    func checkTransferred(_ members: CaseMembers) throws {
        #expect(client.transferred.map { Int($0.rawValue) } == (try members.ints("statuses")))
        let tolerance = try members.required("tolerance")
        let pixel = try members.ints("pixel") ?? []
        #expect(
            pixel.count == client.lastPixel.count
                && zip(pixel, client.lastPixel).allSatisfy { abs($0 - Int($1)) <= tolerance },
            "\(client.lastPixel) instead of \(pixel)")
        client.transferred = []
    }
}
