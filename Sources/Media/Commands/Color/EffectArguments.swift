// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDColor
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// The option of several commands about effects.
struct EffectArguments: ParsableArguments {
    @Option(
        name: .customLong("effect"),
        help: ArgumentHelp(
            "Apply an effect, such as exposure:ev=1 (hwctl effects lists them); several apply in order.",
            valueName: "name:key=value,…"))
    var effects: [String] = []

    /// The effects, which validation has checked.
    var list: EffectList { (try? EffectList(texts: effects, .command)) ?? EffectList() }

    func validate() throws {
        do throws(SessionError) { _ = try EffectList(texts: effects, .command) } catch {
            throw ValidationError("--effect: \(error.reason)")
        }
    }

    /// What a session's call has, after the files of tables were read; nil without effects.
    ///
    /// - Throws: the error of a file that cannot be read, or is not a table.
    func request() throws -> EffectRequest? {
        try EffectRequest.of(list)
    }
}

/// Effects as a session's call has them.
struct EffectRequest {
    let texts: [String]
    /// The texts of .cube files that the call has, where they fit into it.
    let tables: [String]
    /// Those that are added to the session otherwise, all of them.
    let addedTables: [[UInt8]]

    /// Bytes of tables that a call has room for, together, beside its other members.
    private static let room = 56 << 10

    /// The request for effects; nil without any.
    static func of(_ list: EffectList) throws(MediaError) -> EffectRequest? {
        list.isEmpty ? nil : try EffectRequest(list)
    }

    /// Reads the tables.
    private init(_ list: EffectList) throws(MediaError) {
        var files: [String] = []
        texts = list.effects.map { effect in
            guard let file = effect.file else { return effect.text(table: nil) }
            if let known = files.firstIndex(of: file) { return effect.text(table: known) }
            files.append(file)
            return effect.text(table: files.count - 1)
        }
        let compact = try files.map(Self.table).map(\.compactText)
        // A line feed takes two bytes in JSON.
        let size = compact.reduce(0) { $0 + $1.utf8.count + $1.utf8.count { $0 == 0x0A } }
        (tables, addedTables) = size <= Self.room ? (compact, []) : ([], compact.map { Array($0.utf8) })
    }

    private static func table(_ path: String) throws(MediaError) -> CubeTable {
        let bytes: [UInt8]
        do { bytes = try BoundedFile.read(path, limit: CubeTable.maxBytes) } catch {
            throw MediaError(.noInput, "\(path): \(error.reason)")
        }
        do throws(SessionError) { return try CubeTable(text: bytes) } catch {
            throw MediaError(.badInput, "\(path): \(error.reason)")
        }
    }

    /// Adds the effects to the options of a session.
    func apply(to options: inout CreateTransferSession.Options) {
        options.effects = texts
        options.tables = tables.isEmpty ? nil : tables
    }
}
