// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture's size in luma samples.
public struct PictureSize: Hashable, Sendable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
