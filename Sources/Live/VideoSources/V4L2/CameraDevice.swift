// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDRawPictures
internal import CHWDV4L2
internal import HWDCapturing
internal import HWDControlCommands
internal import HWDModel
internal import Glibc
internal import HWDTransport

/// An open device that sends video.
///
/// All that its driver answers is bounded here.
final class CameraDevice: Sendable {
    let path: String
    private let file: OwnedFD
    private let name: String
    private let driver: String
    private let bus: String

    var number: Int32 { file.rawValue }

    /// Opens a device.
    ///
    /// Whether the node is one of a character device does not matter: its answers do.
    /// - Throws: a failure with the exit code of its cause.
    init(path: String) throws(CommandFailure) {
        let opened = hwd_v4l2_open(path)
        guard opened >= 0 else { throw Self.failure(path, "cannot be opened", opened) }
        let file = OwnedFD(opened)
        var answer = hwd_v4l2_camera()
        let result = hwd_v4l2_query(opened, &answer)
        guard result >= 0 else {
            throw CommandFailure(.noInput, "\(path) is no camera: it does not answer Video4Linux2's requests")
        }
        guard answer.captures else {
            throw CommandFailure(
                .noInput,
                answer.is_multiplanar
                    ? "\(path) sends pictures in several memories, which is not supported"
                    : "\(path) is no camera: it sends no video")
        }
        self.path = path
        self.file = file
        name = Self.text(&answer.card)
        driver = Self.text(&answer.driver)
        bus = Self.text(&answer.bus)
    }

    private static func text<Bytes>(_ bytes: inout Bytes) -> String {
        withUnsafeBytes(of: &bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// A failed call.
    ///
    /// - Parameter result: a negative error number.
    static func failure(_ path: String, _ what: String, _ result: Int32) -> CommandFailure {
        let text = String(cString: strerror(-result))
        switch -result {
        case ENOENT, ENOTDIR, EISDIR: return CommandFailure(.noInput, "\(path) \(what): \(text)")
        case EACCES, EPERM:
            return CommandFailure(
                .noPermission,
                "\(path) \(what): \(text); cameras are for the group \"video\" and the person at the machine")
        case EBUSY: return CommandFailure(.tryLater, "\(path) \(what): another program uses the camera")
        case ENODEV, ENXIO: return CommandFailure(.unavailable, "\(path) \(what): there is no such camera any more")
        default: return CommandFailure(.ioError, "\(path) \(what): \(text)")
        }
    }

    // MARK: - What it has

    /// Sizes between those of a range that are worth naming.
    private static let commonSizes = [(3840, 2160), (2560, 1440), (1920, 1080), (1280, 720), (640, 480)]
    private static let commonRates = [60, 50, 30, 25, 24, 15]
    /// A driver could count without end.
    private static let (maxFormats, maxSizes, maxRates): (UInt32, UInt32, UInt32) = (64, 64, 32)

    var camera: Camera {
        let (modes, others) = modes(nearSize: nil)
        return Camera(path: path, name: name, driver: driver, bus: bus, modes: modes, otherFormats: others)
    }

    /// The modes of formats that are recorded, and the names of the other formats.
    ///
    /// - Parameter size: one that is wanted; it is among the modes where a range has it.
    func modes(nearSize size: (width: Int, height: Int)?) -> (modes: [CameraMode], others: [String]) {
        var (modes, others): ([CameraMode], [String]) = ([], [])
        var seen: Set<UInt32> = []
        for index in 0..<Self.maxFormats {
            var number: UInt32 = 0
            guard hwd_v4l2_format(self.number, index, &number) >= 0 else { break }
            guard seen.insert(number).inserted else { continue }
            let fourcc = Self.name(fourcc: number)
            guard CameraContent(fourcc: fourcc) != nil else {
                others.append(fourcc)
                continue
            }
            for (width, height) in sizes(number, nearSize: size) {
                let rates = rates(number, width, height)
                let own = rates.isEmpty ? [nil] : rates.map(Optional.some)
                modes += own.map { CameraMode(fourcc: fourcc, width: width, height: height, rate: $0) }
            }
        }
        return (modes, others)
    }

    private static func name(fourcc: UInt32) -> String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: fourcc >> (8 * $0)) }
        return String(decoding: bytes.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    private static func isPossible(_ width: UInt32, _ height: UInt32) -> Bool {
        (1...16384).contains(width) && (1...16384).contains(height)
    }

    private func sizes(_ fourcc: UInt32, nearSize size: (width: Int, height: Int)?) -> [(Int, Int)] {
        var sizes: [(Int, Int)] = []
        for index in 0..<Self.maxSizes {
            var range = hwd_v4l2_range()
            guard hwd_v4l2_size(number, fourcc, index, &range) >= 0 else { break }
            let (least, most) = (range.least, range.most)
            guard Self.isPossible(least.0, least.1) else { continue }
            guard !range.is_one else {
                sizes.append((Int(least.0), Int(least.1)))
                continue
            }
            guard Self.isPossible(most.0, most.1), least.0 <= most.0, least.1 <= most.1 else { continue }
            let wanted = (size.map { [($0.width, $0.height)] } ?? []) + Self.commonSizes
            for (width, height) in wanted + [(Int(most.0), Int(most.1))]
            where Int(least.0)...Int(most.0) ~= width && Int(least.1)...Int(most.1) ~= height
                && (width - Int(least.0)) % Int(max(1, range.step.0)) == 0
                && (height - Int(least.1)) % Int(max(1, range.step.1)) == 0
                && !sizes.contains(where: { $0 == (width, height) })
            {
                sizes.append((width, height))
            }
            // A driver has one range.
            break
        }
        return sizes
    }

    private func rates(_ fourcc: UInt32, _ width: Int, _ height: Int) -> [CaptureRate] {
        var rates: [CaptureRate] = []
        for index in 0..<Self.maxRates {
            var range = hwd_v4l2_range()
            guard hwd_v4l2_interval(number, fourcc, UInt32(width), UInt32(height), index, &range) >= 0 else {
                break
            }
            // Of an interval the least is the highest rate.
            guard let highest = Self.rate(range.least.0, range.least.1) else { continue }
            if !rates.contains(highest) { rates.append(highest) }
            guard !range.is_one else { continue }
            if let lowest = Self.rate(range.most.0, range.most.1) {
                for rate in Self.commonRates
                where Double(rate) > lowest.perSecond && Double(rate) < highest.perSecond {
                    rates.append(CaptureRate(rate))
                }
                if !rates.contains(lowest) { rates.append(lowest) }
            }
            break
        }
        return rates
    }

    /// The rate of an interval; nil where it is not one of a camera.
    static func rate(_ numerator: UInt32, _ denominator: UInt32) -> CaptureRate? {
        guard numerator > 0, denominator > 0 else { return nil }
        let rate = CaptureRate(Int(denominator), Int(numerator))
        return (0.01...10_000).contains(rate.perSecond) ? rate : nil
    }

    // MARK: - What it is set to

    /// Sets a mode.
    ///
    /// - Returns: what the driver made of it.
    func set(_ mode: CameraMode) throws(CommandFailure) -> CameraSetting {
        var setting = hwd_v4l2_setting()
        setting.fourcc = mode.fourcc.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        (setting.width, setting.height) = (UInt32(clamping: mode.width), UInt32(clamping: mode.height))
        if let rate = mode.rate {
            setting.numerator = UInt32(clamping: rate.denominator)
            setting.denominator = UInt32(clamping: rate.numerator)
        }
        let result = hwd_v4l2_set(number, &setting)
        guard result >= 0 else { throw Self.failure(path, "does not take \(mode.fourcc)", result) }
        let fourcc = Self.name(fourcc: setting.fourcc)
        guard let content = CameraContent(fourcc: fourcc) else {
            throw CommandFailure(
                .badInput, "\(path) chose \(fourcc) instead of \(mode.fourcc), which cannot be recorded")
        }
        guard Self.isPossible(setting.width, setting.height) else {
            throw CommandFailure(.badInput, "\(path) has pictures of \(setting.width)x\(setting.height)")
        }
        guard !setting.is_field else {
            throw CommandFailure(.badInput, "\(path) sends single fields, which cannot be recorded")
        }
        if case .raw(let format) = content {
            guard hwd_raw_can_have(format.layout, setting.width, setting.stride) else {
                throw CommandFailure(
                    .badInput,
                    "\(path) has pictures of \(setting.width)x\(setting.height) in rows of \(setting.stride) bytes")
            }
        }
        return CameraSetting(content: content, fourcc: fourcc, setting)
    }
}

/// What a driver was set to.
struct CameraSetting {
    let content: CameraContent
    let fourcc: String
    /// In pixels.
    let width: Int
    let height: Int
    /// Bytes of a row, of raw pictures.
    let stride: UInt32
    let rate: CaptureRate?
    let color: CameraColor

    init(content: CameraContent, fourcc: String, _ setting: hwd_v4l2_setting) {
        (self.content, self.fourcc) = (content, fourcc)
        (width, height) = (Int(setting.width), Int(setting.height))
        stride = setting.stride
        rate = CameraDevice.rate(setting.numerator, setting.denominator)
        var isRGB = false
        if case .raw(let format) = content { isRGB = format.pixelFormat.isRGB }
        color = CameraColor(
            colorspace: setting.colorspace, transfer: setting.transfer, encoding: setting.encoding,
            quantization: setting.quantization, isRGB: isRGB, isJPEG: content == .jpeg)
    }
}
