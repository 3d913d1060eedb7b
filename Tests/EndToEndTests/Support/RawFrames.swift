// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel

/// Frames that ffmpeg made, rows without gaps.
struct RawFrames: Sendable {
    let format: PixelFormat
    let width: Int
    let height: Int
    /// The file that holds them, one after the other.
    let path: String
    let frames: [[UInt8]]

    /// Makes `count` frames of a moving picture, whose alpha is a soft disc; with `noise` they are hard to compress.
    init(
        _ format: PixelFormat, width: Int, height: Int, count: Int, noise: Bool = false, in folder: Scratch
    ) throws {
        self.format = format
        self.width = width
        self.height = height
        path = folder.path("\(format.rawValue)-\(width)x\(height)-\(count).raw")
        var picture = "testsrc2=size=\(width)x\(height):rate=30" + (noise ? ",noise=alls=24:allf=t:all_seed=7" : "")
        if format == .yuva {
            let alpha = "clip(255-6*(hypot(X-W/3-N,Y-H/2)-30),0,255)"
            picture += ",format=yuva420p,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='\(alpha)'"
        }
        try Programs.tool(
            "ffmpeg",
            [
                "-y", "-v", "error", "-f", "lavfi", "-i", picture, "-frames:v", "\(count)", "-pix_fmt",
                format.ffmpegName,
                "-f", "rawvideo", path,
            ])
        let all = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        let size = all.count / count
        frames = (0..<count).map { Array(all[$0 * size..<($0 + 1) * size]) }
    }

    /// The arguments with which ffmpeg reads them.
    var ffmpegInput: [String] {
        ["-f", "rawvideo", "-pix_fmt", format.ffmpegName, "-s", "\(width)x\(height)", "-r", "30", "-i", path]
    }
}

extension PixelFormat {
    /// libavutil's name.
    var ffmpegName: String {
        switch self {
        case .nv12: "nv12"
        case .p010: "p010le"
        case .yu12: "yuv420p"
        case .i010: "yuv420p10le"
        case .yuva: "yuva420p"
        case .bgra8: "bgra"
        case .rgba8: "rgba"
        case .bgrx10: "x2rgb10le"
        case .rgbx10: "x2bgr10le"
        case .bgra10, .rgba10: rawValue  // ffmpeg has none
        case .rgba16f: "rgbaf16le"
        }
    }
}
