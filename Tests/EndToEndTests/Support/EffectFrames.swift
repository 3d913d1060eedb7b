// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDWire

/// Texts of .cube files.
enum Cubes {
    /// A strong look, with values outside 0…1.
    static func look(_ c: SIMD3<Double>) -> SIMD3<Double> {
        [
            1.1 * pow(c.x, 1.2) - 0.02 + 0.1 * c.y * c.z, 0.95 * pow(c.y, 0.9) + 0.05 * c.x * c.x,
            0.9 * pow(c.z, 1.1) + 0.1 * (1 - c.x) * c.y,
        ]
    }

    /// A three-dimensional table.
    static func text(_ size: Int, _ function: (SIMD3<Double>) -> SIMD3<Double>) -> String {
        var lines = ["LUT_3D_SIZE \(size)"]
        for blue in 0..<size {
            for green in 0..<size {
                for red in 0..<size {
                    let value = function(SIMD3(Double(red), Double(green), Double(blue)) / Double(size - 1))
                    lines.append("\(Float(value.x)) \(Float(value.y)) \(Float(value.z))")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// Frames of half floats for sessions with effects.
enum EffectFrames {
    static let (width, height) = (64, 32)
    static let image = CreateTransferSession.Image(
        pixelFormat: PixelFormat.rgba16f.rawValue, primaries: "709")

    /// Pixels whose components are −0.2…1.2, opaque.
    static let pixels: [Float16] = {
        var random = SplitMix(state: 1)
        return (0..<width * height * 4).map {
            $0 % 4 == 3 ? 1 : Float16(Float.random(in: -0.2...1.2, using: &random))
        }
    }()

    static func parameters(_ effects: [String], added: Int?) -> CreateTransferSession.Parameters {
        var options = CreateTransferSession.Options()
        (options.effects, options.addedTables) = (effects, added)
        return CreateTransferSession.Parameters(
            width: RawSession.width, height: RawSession.height, source: image, target: image, options: options,
            device: "cpu")
    }
}
