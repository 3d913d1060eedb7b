// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether color samples are multiplied by alpha.
public enum AlphaMode: String, CaseIterable, Hashable, Sendable {
    /// Multiplied, in the picture's own values: linear for half floats, nonlinear for others.
    case premultiplied
    /// Not multiplied.
    case straight
}

/// One side of a conversion: the layout of the samples and their interpretation.
public struct ImageDescription: Hashable, Sendable {
    /// The samples' layout.
    public var format: PixelFormat
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// Interpretation of the samples; RGB formats use primaries and transfer function only.
    public var signal: SignalDescription
    /// Whether color is multiplied by alpha.
    ///
    /// For a format without alpha a source's alpha is 1 everywhere; a target's is dropped and its color is in this mode.
    public var alpha: AlphaMode
    /// Whether half floats are R'G'B' of `signal.transfer` instead of light; only between the steps of a scaling.
    var holdsCodes = false

    /// Creates a description.
    ///
    /// Half floats are extended linear regardless of `signal.transfer`: 1.0 is reference white.
    public init(
        format: PixelFormat, width: Int, height: Int, signal: SignalDescription, alpha: AlphaMode = .premultiplied
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.signal = signal
        self.alpha = alpha
        if format == .rgba16f { self.signal.transfer = .linear }
    }

    /// Whether the samples are half floats of light.
    var isLight: Bool { format == .rgba16f && !holdsCodes }
}
