// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDRawPictures
internal import CHWDV4L2
package import HWDCapturing
package import HWDControlCommands
internal import HWDModel
internal import Glibc

/// What a camera's pictures are (linux/videodev2.h, `V4L2_PIX_FMT_*`).
package enum CameraContent: Hashable, Sendable {
    case raw(RawFormat)
    case jpeg
    case coded(CaptureCodec)

    /// The content of a format; nil for those that are not recorded.
    package init?(fourcc: String) {
        guard let content = Self.table.first(where: { $0.0 == fourcc })?.1 else { return nil }
        self = content
    }

    /// Those that are recorded, what is best for a recording first.
    private static let table: [(String, CameraContent)] = [
        ("NV12", .raw(RawFormat(HWD_RAW_NV12, .nv12))),
        ("YU12", .raw(RawFormat(HWD_RAW_YU12, .yu12))),
        ("P010", .raw(RawFormat(HWD_RAW_P010, .p010))),
        ("YUYV", .raw(RawFormat(HWD_RAW_YUYV, .nv12))),
        ("UYVY", .raw(RawFormat(HWD_RAW_UYVY, .nv12))),
        ("XR24", .raw(RawFormat(HWD_RAW_RGBX, .bgra8))),
        ("AR24", .raw(RawFormat(HWD_RAW_RGBX, .bgra8))),
        ("MJPG", .jpeg), ("JPEG", .jpeg),
        ("HEVC", .coded(.hevc)), ("H264", .coded(.h264)),
    ]

    /// Its rank in the table; the least is the best.
    static func rank(_ fourcc: String) -> Int { table.firstIndex { $0.0 == fourcc } ?? table.count }
}

/// A size and a rate that a camera has in a format.
package struct CameraMode: Hashable, Sendable {
    /// Four characters of `V4L2_PIX_FMT_*`.
    package var fourcc: String
    /// In pixels.
    package var width: Int
    package var height: Int
    /// nil where the driver does not say.
    package var rate: CaptureRate?

    package init(fourcc: String, width: Int, height: Int, rate: CaptureRate?) {
        (self.fourcc, self.width, self.height, self.rate) = (fourcc, width, height, rate)
    }

    /// The mode for a recording.
    ///
    /// Without a size: the largest up to 1920x1080 that reaches the rate. With one: the nearest.
    /// - Parameters:
    ///   - rate: frames per second.
    ///   - codecs: one of which is to be copied; none for pictures that are coded here.
    /// - Returns: nil where no mode is of a kind that is recorded.
    package static func best(
        of modes: [CameraMode], size: (width: Int, height: Int)?, rate: Double, codecs: [CaptureCodec] = []
    ) -> CameraMode? {
        func rank(_ mode: CameraMode) -> [Double] {
            let area = Double(mode.width * mode.height)
            // 29.97 is enough for 30.
            let shortfall = mode.rate.map { max(0, rate * 0.99 - $0.perSecond) } ?? 0
            let excess = mode.rate.map { max(0, $0.perSecond - rate) } ?? 0
            let format = Double(CameraContent.rank(mode.fourcc))
            if let size {
                let distance = abs(mode.width - size.width) + abs(mode.height - size.height)
                return [Double(distance), shortfall, format, excess]
            }
            let isLarge = mode.width * mode.height > 1920 * 1080
            return [isLarge ? 1 : 0, shortfall, isLarge ? area : -area, format, excess]
        }
        return modes.filter { mode in
            switch CameraContent(fourcc: mode.fourcc) {
            case .coded(let own): codecs.contains(own)
            case .raw, .jpeg: codecs.isEmpty
            case nil: false
            }
        }.min { rank($0).lexicographicallyPrecedes(rank($1)) }
    }
}

/// A camera of Video4Linux2, and what it has.
package struct Camera: Hashable, Sendable {
    package let path: String
    /// As the driver writes it; it may hold anything.
    package let name: String
    package let driver: String
    package let bus: String
    package let modes: [CameraMode]
    /// Formats that are not recorded.
    package let otherFormats: [String]

    /// Whether it sends pictures, and not only what it codes itself.
    package var hasPictures: Bool { CameraMode.best(of: modes, size: nil, rate: 30) != nil }

    /// What it codes itself, and can be copied, HEVC first.
    package var codecs: [CaptureCodec] {
        [.hevc, .h264].filter { CameraMode.best(of: modes, size: nil, rate: 30, codecs: [$0]) != nil }
    }

    /// The cameras of a folder of device nodes, by number; devices that cannot be opened are left out.
    package static func all(in folder: String = "/dev") -> [Camera] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var numbers: [Int] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix("video"), let number = Int(name.dropFirst(5)) else { continue }
            numbers.append(number)
        }
        return numbers.sorted().compactMap { try? Camera(path: "\(folder)/video\($0)") }
    }

    /// Asks a device.
    /// - Throws: a failure with the exit code of its cause.
    package init(path: String) throws(CommandFailure) {
        self = try CameraDevice(path: path).camera
    }

    init(
        path: String, name: String, driver: String, bus: String, modes: [CameraMode], otherFormats: [String]
    ) {
        (self.path, self.name, self.driver, self.bus) = (path, name, driver, bus)
        (self.modes, self.otherFormats) = (modes, otherFormats)
    }
}
