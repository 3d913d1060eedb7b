// SPDX-License-Identifier: GPL-2.0-or-later

/// Numbers of the command line with a suffix of thousands: bits per second and bytes.
package enum ScaledNumber {
    private static let scales: [Character: Double] = ["k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12]

    /// A number such as 800k, 1.5M or 500000, rounded to a whole one; nil for other texts, and from 10^18 on.
    package static func whole(_ text: String) -> Int64? {
        let scale = text.lowercased().last.flatMap { scales[$0] }
        let digits = scale == nil ? text : String(text.dropLast())
        guard !digits.isEmpty, digits.allSatisfy({ "0123456789.".contains($0) }), let number = Double(digits),
            number * (scale ?? 1) < 1e18
        else { return nil }
        return Int64((number * (scale ?? 1)).rounded())
    }
}
