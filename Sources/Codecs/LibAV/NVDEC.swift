// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import Synchronization

/// NVIDIA's decoder as an accelerator of libavcodec's own decoders, which parse the stream; libavcodec opens its libraries.
package enum NVDEC {
    /// The node of the card that this process uses.
    private static let selected = Mutex<String?>(nil)

    /// Prepares this process for CUDA on a card alone, which is then CUDA's first device; must precede CUDA's start.
    ///
    /// - Throws: a transient error for another card than the first one.
    static func select(_ node: String) throws(LibAVError) {
        try selected.withLock { first throws(LibAVError) in try select(node, after: &first) }
        LibAVLog.keepsLimits = true
        // Decoding compiles nothing for the GPU, so nothing is kept in the home folder either.
        setenv("CUDA_CACHE_DISABLE", "1", 1)
        setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1)
        guard let minor = CodecInterface.nvidiaMinor(of: node) else { return }
        if let uuid = NVIDIACard(minor: minor)?.uuid {
            setenv("CUDA_VISIBLE_DEVICES", uuid, 1)
        } else if let index = index(of: minor, beside: node) {
            setenv("CUDA_VISIBLE_DEVICES", "\(index)", 1)
        }
    }

    /// Notes the first card of a process; refuses others, because CUDA reads once which devices it may use.
    static func select(_ node: String, after first: inout String?) throws(LibAVError) {
        guard let card = first, card != node else {
            first = node
            return
        }
        throw LibAVError(
            "\(node) cannot be used by a process whose CUDA was set up for \(card)", isTransient: true)
    }

    /// The place of a card among those that this process may open, which the kernel numbers in the order of the bus.
    private static func index(of minor: Int, beside node: String) -> Int? {
        guard let slash = node.lastIndex(of: "/") else { return nil }
        let folder = String(node[..<slash])
        let present = (0...minor).filter { access("\(folder)/nvidia\($0)", R_OK | W_OK) == 0 }
        return present.firstIndex(of: minor)
    }

    /// The error of a failed call, with the reason by libav's messages, where they state one.
    static func error(_ what: String, _ code: Int32 = 0) -> LibAVError {
        let messages = LibAVLog.errors
        guard let reason = reason(messages) else {
            return messages.last.map { LibAVError("\(what): \($0)") } ?? LibAVError(what, code)
        }
        return LibAVError(
            "\(what): \(reason.text)", isTransient: reason.words == outOfMemory,
            isUnsupported: reason.words == LogFinding.lacksCodec)
    }

    /// Why CUDA or the decoder failed, by libav's messages, and the words that say so; nil where none is about hardware.
    package static func reason(_ messages: [String]) -> (text: String, words: String)? {
        for (words, text) in known {
            guard let message = messages.first(where: { $0.contains(words) }) else { continue }
            return (text ?? oldDriver(lacking: message), words)
        }
        return messages.first { LogFinding.isLimit($0) || LogFinding($0) == .driverFailure }.map { ($0, "") }
    }

    /// The words about a GPU without memory.
    package static let outOfMemory = "CUDA_ERROR_OUT_OF_MEMORY"

    /// Words of FFmpeg's loader (ffnvcodec/dynlink_loader.h), which names libraries and functions alike, and of CUDA.
    private static let known: [(words: String, text: String?)] = [
        (outOfMemory, "the GPU has no memory left"),
        ("Cannot load libcuda", "NVIDIA's libcuda.so.1 cannot be loaded"),
        ("Cannot load libnvcuvid", "NVIDIA's libnvcuvid.so.1 cannot be loaded"),
        ("Cannot load cu", nil),
        (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "NVIDIA's libraries are of another version than its kernel module"
        ),
        ("CUDA_ERROR_NO_DEVICE", "CUDA finds no device that this process may use"),
        ("CUDA_ERROR_INVALID_DEVICE", "CUDA finds no device that this process may use"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU's memory has an error (ECC)"),
        (LogFinding.lacksCodec, "this GPU has no such decoder"),
    ]

    /// The first driver with every function that a version of libavcodec opens, by the interface's headers it is built with in Debian.
    private static let firstDrivers: [UInt32: String] = [59: "470.57", 60: "520.56", 61: "550.54"]

    /// The sentence about a driver that lacks what this version of libavcodec opens.
    package static func oldDriver(lacking message: String) -> String {
        let major = avcodec_version() >> 16
        let own = NVIDIACard.driverVersion().map { " \($0)" } ?? ""
        let needed = firstDrivers[major].map { ", which needs \($0) or later" } ?? ""
        return "NVIDIA's driver\(own) is too old for libavcodec \(major)\(needed) (\(message))"
    }
}

extension CodecInterface {
    /// libavutil's type of device.
    var deviceType: AVHWDeviceType {
        switch self {
        case .vaapi: AV_HWDEVICE_TYPE_VAAPI
        case .nvidia: AV_HWDEVICE_TYPE_CUDA
        }
    }

    /// libavutil's format of pictures on the device.
    var surfaceFormat: AVPixelFormat {
        switch self {
        case .vaapi: AV_PIX_FMT_VAAPI
        case .nvidia: AV_PIX_FMT_CUDA
        }
    }
}
