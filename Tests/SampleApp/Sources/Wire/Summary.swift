// SPDX-License-Identifier: MIT

/// The line that the sample prints.
public func summary(pictures: Int, encoder: String) -> String { "\(pictures) pictures encoded by \(encoder)" }
