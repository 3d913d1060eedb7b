// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import HWDColor
internal import HWDModel

/// A list of effects in the form that the shaders take (GLSL/effects.glsl): that of the CPU's loops.
struct EffectNumbers {
    /// The end of the uniform buffer: the number of effects, and a record for each that a list may have.
    ///
    /// Empty without effects.
    let records: [Float]
    /// The storage buffer `Entries`.
    let entries: [Float]
    /// A bit for each kind of effect in the list.
    let kinds: UInt32
    /// A bit for each coding of values.
    let codings: UInt32

    var isEmpty: Bool { records.isEmpty }

    /// - Throws: `PixelTransferNotSupported` for more steps than the shaders have room for.
    init(_ steps: [EffectStep]) throws(SessionError) {
        guard steps.count <= EffectList.maxCount else {
            throw SessionError(
                .pixelTransferNotSupported, "\(steps.count) steps of effects are more than \(EffectList.maxCount)")
        }
        var (records, entries): ([Float], [Float]) = ([], [])
        var (kinds, codings): (UInt32, UInt32) = (0, 0)
        for step in steps {
            let first = entries.count
            let effect = hwd_effect(step) { numbers in
                entries += numbers
                return nil
            }
            records += Self.record(effect, first)
            kinds |= 1 << effect.kind.rawValue
            codings |= 1 << effect.coding.space.rawValue
        }
        if !steps.isEmpty {
            records = Self.bits([UInt32(steps.count), 0, 0, 0]) + records
            let size = 4 + EffectList.maxCount * Self.recordSize
            records += [Float](repeating: 0, count: size - records.count)
        }
        (self.records, self.entries, self.kinds, self.codings) = (records, entries, kinds, codings)
    }

    private static let recordSize = 20

    private static func record(_ effect: hwd_effect, _ first: Int) -> [Float] {
        let form = [
            effect.kind.rawValue, effect.coding.space.rawValue | (effect.flag ? 0x100 : 0), UInt32(effect.size),
            UInt32(first),
        ]
        let (n, coding) = (effect.numbers, effect.coding)
        // A matrix has twelve numbers, and no coding that has any.
        let isMatrix = effect.kind == HWD_MATRIX || effect.kind == HWD_CODED
        let ends = isMatrix ? [n.10, n.11] : [coding.white, coding.peak]
        return bits(form) + [n.0, n.1, n.2, n.3, n.4, n.5, n.6, n.7, n.8, n.9] + ends
            + [coding.weights.0, coding.weights.1, coding.weights.2, coding.gamma]
    }

    /// Integers as they are in a buffer of floats.
    private static func bits(_ numbers: [UInt32]) -> [Float] { numbers.map { Float(bitPattern: $0) } }
}
