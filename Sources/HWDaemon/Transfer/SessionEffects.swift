// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The effects of a session's frames: tables that the client adds, and changes of parameters; used on the I/O thread.
struct SessionEffects {
    private let created: Conversion
    /// Those of the Create call, then those that were added.
    private var tables: [CubeTable]
    /// The numbers of tables that were not added yet.
    private var missing: Set<Int>
    private var schedule: EffectSchedule

    /// - Parameter added: how many of the conversion's tables stand for those that the client adds, at the end.
    init(_ conversion: Conversion, added: Int) {
        created = conversion
        tables = conversion.options.effects.tables
        missing = Set(tables.indices.suffix(added))
        schedule = EffectSchedule(conversion.options.effects.list)
    }

    /// Reads a table out of a file that its owner may change at any time.
    ///
    /// - Throws: `Parameter` for a number that is not expected, and for a text that is not a table.
    mutating func add(_ message: AddTable, _ memory: SharedMemory) throws(SessionError) {
        let number = Int(message.table)
        guard missing.contains(number) else {
            throw SessionError(.parameter, "table \(number) is not one that was to be added, or was added already")
        }
        guard let size = Int(exactly: message.size), (1...memory.size).contains(size) else {
            throw SessionError(
                .parameter, "table \(number) has \(message.size) bytes, but its memfd has \(memory.size)")
        }
        let copy = Array(memory.bytes[..<size])
        do throws(SessionError) { tables[number] = try CubeTable(text: copy) } catch {
            throw SessionError(.parameter, "table \(number): \(error.reason)")
        }
        missing.remove(number)
    }

    /// Changes parameters from a frame's time on.
    ///
    /// - Throws: `Parameter` for a list that is malformed, or not one for the session.
    mutating func change(_ message: ChangeEffects) throws(SessionError) {
        let list = try TransferParameters.list(message.effects, created.target.signal, tableCount: tables.count)
        try schedule.add(EffectSchedule.Change(pts: message.pts, list: list))
    }

    /// The effects of the next frame.
    ///
    /// - Throws: `Parameter` where a table is missing, which is fatal.
    mutating func effects(of frame: TransferFrame) throws(SessionError) -> Effects {
        if let table = missing.min() {
            throw SessionError(.parameter, "frame \(frame.frameID) comes before table \(table) was added")
        }
        schedule.advance(to: frame.pts)
        var effects = created.options.effects
        (effects.list, effects.tables) = (schedule.list, tables)
        return effects
    }
}
