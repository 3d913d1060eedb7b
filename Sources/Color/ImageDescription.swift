// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Whether R, G and B were multiplied by alpha.
public enum AlphaMode: String, CaseIterable, Hashable, Sendable {
    /// They were: in the picture's own values, linear for half floats, nonlinear for bytes and Y'CbCr.
    case premultiplied
    /// They were not.
    case straight
}

/// One side of a conversion: a layout of samples and what they mean.
public struct ImageDescription: Hashable, Sendable {
    /// The samples' layout.
    public var format: PixelFormat
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int
    /// What the samples mean; for RGB formats primaries and transfer count only.
    public var signal: SignalDescription
    /// Whether colours are multiplied by alpha.
    ///
    /// Where a format has none, a source's is 1 everywhere, and a target's is dropped, its colours being those of this
    /// mode.
    public var alpha: AlphaMode

    /// Names a picture.
    ///
    /// Half floats are extended linear whatever `signal.transfer` says: 1.0 is reference white.
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
}
