// SPDX-License-Identifier: GPL-2.0-or-later

/// A pass over the frames of a session that codes them twice.
public enum CodingPass: String, Hashable, Sendable, CaseIterable {
    /// Collects statistics.
    case first = "FirstPass"
    /// Codes the same frames with the statistics.
    case final = "FinalPass"

    /// The values of `MultiPassStorage`.
    static let names = allCases.map(\.rawValue)
}
