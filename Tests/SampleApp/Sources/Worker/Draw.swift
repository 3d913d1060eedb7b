// SPDX-License-Identifier: MIT
import Alpha
import Color
import Model

/// Draws a picture of NV12 without padding between its rows.
public func draw(_ picture: Int, into samples: UnsafeMutableRawBufferPointer) {
    for y in 0..<Clip.height {
        for x in 0..<Clip.width {
            samples[y * Clip.width + x] = composite(luma(x: x, y: y, picture: picture), alpha: 255)
        }
    }
    let chroma = Clip.width * Clip.height
    for index in chroma..<chroma * 3 / 2 { samples[index] = neutralChroma }
}
