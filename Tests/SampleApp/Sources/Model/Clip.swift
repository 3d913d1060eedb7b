// SPDX-License-Identifier: MIT

/// The size of the sample's pictures.
public enum Clip {
    /// Luma samples in a row.
    public static let width = 640
    /// Rows of luma samples.
    public static let height = 360
}
