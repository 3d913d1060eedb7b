// SPDX-License-Identifier: GPL-2.0-or-later

extension ConversionPlan {
    /// Entries of the table of `forward`.
    public static let forwardEntries = 4096

    /// Light for E' from 0 to `forwardLimit` in equal steps, for linear interpolation: within 0.01 of a half
    /// float's unit.
    public var forwardTable: [Float] { forwardTable(upTo: forwardLimit) }

    /// The same from 0 to a sixteenth of `forwardLimit`: near 0 the first table's steps are too wide for the smallest
    /// half floats.
    public var forwardTableNearZero: [Float] { forwardTable(upTo: forwardLimit / 16) }

    /// The whole range in one table, for users of a single table: longer for curves that are twelve times as steep near 0.
    public var forwardTableAlone: [Float] {
        forwardTable(
            upTo: forwardLimit,
            entries: conversion.source.signal.transfer == .hlgApple12
                ? 4 * Self.forwardEntries : Self.forwardEntries)
    }

    private func forwardTable(upTo limit: Double, entries: Int = forwardEntries) -> [Float] {
        let transfer = conversion.source.signal.transfer
        return (0..<entries).map { index in
            let value = limit * Double(index) / Double(entries - 1)
            return Float(forwardScale * transfer.decode(value))
        }
    }

    /// E' for light as a `LogTable`: a curve this steep at 0 needs steps that grow with the value.
    public var inverseTable: [Float] {
        let transfer = conversion.target.signal.transfer
        return LogTable.values { transfer.encode($0 * inverseScale) }
    }
}

/// A function of light, sampled 64 times an octave from 2⁻³⁰ to 2¹⁶, preceded by its value at 0.
///
/// The index is the upper bits of the float itself: for v ≥ 2⁻³⁰, `(bits(v) − bits(2⁻³⁰)) >> 17` with the lower 17 bits as
/// the fraction; below, the fraction is v · 2³⁰ between the first two entries.
public enum LogTable {
    /// Exponent of the smallest sample.
    public static let lowest = -30
    /// Exponent of the largest.
    public static let highest = 16
    /// Samples in an octave.
    public static let stepsPerOctave = 64
    /// Entries: the value at 0, and the samples with both ends.
    public static let count = (highest - lowest) * stepsPerOctave + 2

    /// Samples a function; where it is undefined at 0 the first sample is used.
    public static func values(_ function: (Double) -> Double) -> [Float] {
        var values: [Float] = []
        values.reserveCapacity(count)
        for index in 0..<count - 1 {
            let (octave, step) = (index / stepsPerOctave, index % stepsPerOctave)
            let base = Double(sign: .plus, exponent: lowest + octave, significand: 1)
            values.append(Float(function(base * (1 + Double(step) / Double(stepsPerOctave)))))
        }
        let zero = Float(function(0))
        return [zero.isFinite ? zero : values[0]] + values
    }
}
