// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDWire
import Testing

/// Runs the steps of one case of Tests/Clients/cases.json over HWClient.
struct CaseRunner {
    let server: TestDaemon
    let client = CaseClient()

    /// Runs a step; its call must fail with `status` if the step has one, else succeed.
    func run(_ step: [String: PropertyValue]) throws {
        let members = CaseMembers(step)
        let expected = try members.int("status")
        guard let action = try members.string("do") else { throw CaseError("a step has no `do`") }
        do {
            try perform(action, members)
            // A fault that only the worker sees ends the session.
            if let expected {
                try client.fetchAll()
                Issue.record("\(action) succeeded instead of failing with \(expected)")
            }
        } catch let error as ClientError {
            guard case .session(let status) = error.code, Int(status.rawValue) == expected else { throw error }
        }
        try members.checkAllRead()
    }

    private func perform(_ action: String, _ members: CaseMembers) throws {
        if action != "create", client.session == nil { throw CaseError("there is no session") }
        switch action {
        case "create": try create(members)
        case "set": try set(named(try members.object("properties") ?? [:]))
        case "copy": try copy(members)
        case "prepare": try client.compression.prepare()
        case "encode": try encode(members)
        case "complete": try client.complete()
        case "packets": try checkPackets(members)
        case "decode": try decode(members)
        case "can_accept_format":
            let format = try members.string("format")
            let record = format == "@format" ? client.format : Hexadecimal.bytes(format ?? "")
            try client.decompression.checkFormat(try #require(record))
        case "pictures": try checkPictures(members)
        case "transfer":
            let (color, fill) = (try members.color(), try members.ints("fill") ?? [])
            let pts = try members.int("pts").map { Int64($0) }
            for _ in 0..<(try members.required("count")) { try client.transfer(fill: fill, color, pts) }
        case "change_effects":
            let effects = try texts(members, "effects")
            try client.transferSession.changeEffects(
                effects, from: try members.int("pts").map { Int64($0) } ?? EffectSchedule.always)
        case "transferred": try checkTransferred(members)
        case "kill_worker":
            let result = Glibc.kill(pid_t(try server.session(client.id).pid), SIGKILL)
            try #require(result == 0)
        case "wait_for_end": break  // `run` fetches events until the session ends.
        default: throw CaseError("the table has a step that this runner does not know: \(action)")
        }
    }

    // MARK: - Sessions

    private func create(_ members: CaseMembers) throws {
        guard var parameters = try members.object("parameters") else { throw CaseError("parameters are missing") }
        if parameters["format_description"] == .string("@format") {
            parameters["format_description"] = .string(Hexadecimal.text(client.format))
        }
        switch try members.string("method") {
        case "CreateCompressionSession":
            let values: CreateCompressionSession.Parameters = try decoded(parameters)
            try client.create(server.daemon, values)
        case "CreateDecompressionSession":
            let values: CreateDecompressionSession.Parameters = try decoded(parameters)
            try client.create(server.daemon, values)
        case "CreateTransferSession":
            let values: CreateTransferSession.Parameters = try decoded(parameters)
            try client.create(server.daemon, values, tables: try texts(members, "tables").map { Array($0.utf8) })
        case let method: throw CaseError("method \(method ?? "") is unknown")
        }
    }

    private func texts(_ members: CaseMembers, _ name: String) throws -> [String] {
        try (members.list(name) ?? []).map(\.description)
    }

    /// A call's parameters, which must hold every member of the table.
    private func decoded<Value: Codable>(_ members: [String: PropertyValue]) throws -> Value {
        let value = try JSON.decode(Value.self, from: try JSON.encode(members))
        let kept = try JSON.decode([String: PropertyValue].self, from: try JSON.encode(value))
        for (name, member) in members where kept[name] != member {
            throw CaseError("HWClient has no parameter \(name) with the value \(member)")
        }
        return value
    }

    private func named(_ values: [String: PropertyValue]) -> [PropertyKey: PropertyValue] {
        Dictionary(uniqueKeysWithValues: values.map { (PropertyKey(rawValue: $0.key), $0.value) })
    }

    private func set(_ properties: [PropertyKey: PropertyValue]) throws {
        switch client.session {
        case .compression(let session): try session.setProperties(properties)
        case .decompression(let session): try session.setProperties(properties)
        case .transfer(let session): try session.setProperties(properties)
        case nil: break
        }
    }

    private func copy(_ members: CaseMembers) throws {
        let names = try (members.list("names") ?? []).map { PropertyKey(rawValue: $0.description) }
        let values =
            switch client.session {
            case .compression(let session): try session.copyProperties(names)
            case .decompression(let session): try session.copyProperties(names)
            case .transfer(let session): try session.copyProperties(names)
            case nil: [PropertyKey: PropertyValue]()
            }
        for name in names { #expect(values[name] != nil, "\(name.rawValue) is missing") }
        for (name, value) in named(try members.object("values") ?? [:]) {
            #expect(values[name] == value, "\(name.rawValue)")
        }
    }

    // MARK: - Frames and packets

    private func encode(_ members: CaseMembers) throws {
        let first = try members.required("first")
        let keyFrames = try members.ints("key_frames") ?? []
        let color = try members.color()
        var sideData: [Int: [FrameSideData]] = [:]
        try members.each("side_data") { entry in
            sideData[try entry.required("frame"), default: []].append(try entry.sideData())
        }
        for number in first..<first + (try members.required("count")) {
            let entries = sideData[number] ?? []
            let metadata = color == nil && entries.isEmpty ? nil : FrameMetadata(color: color, sideData: entries)
            try client.encode(number, isKeyFrame: keyFrames.contains(number), metadata)
        }
    }

    private func decode(_ members: CaseMembers) throws {
        let skipped = try members.ints("skip") ?? []
        let isSynchronous = try members.bool("synchronous") ?? false
        var sizes: [Int: Int] = [:]
        try members.each("truncate") { sizes[try $0.required("packet")] = try $0.required("bytes") }
        for (number, packet) in client.coded.enumerated() where !skipped.contains(number) {
            var sent = packet
            sent.bytes = Array(packet.bytes.prefix(sizes[number] ?? .max))
            try client.decode(sent, isAsynchronous: !isSynchronous)
        }
    }
}
