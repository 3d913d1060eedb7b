// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// NVIDIA's libraries that libavcodec opens to decode and to encode.
enum NVIDIALibraries {
    /// Loads those of the encoder beside the decoder's into this process, which starts nothing.
    ///
    /// - Returns: why the encoder cannot be used; nil where it can be.
    static func encoderFault(_ drivers: DriverFiles) -> String? {
        let name = DriverFiles.nvencLibrary
        guard dlopen(name, RTLD_LAZY | RTLD_LOCAL) == nil else { return nil }
        if let refused = drivers.refused(of: .nvenc).first { return "NVENC cannot be used: \(refused.sentence)" }
        let words = dlerror().map { String(cString: $0).printable(maxBytes: 300) } ?? "unknown error"
        return "NVENC cannot be used: \(name) cannot be loaded (\(words)): install libnvidia-encode1"
            + " in the version of NVIDIA's driver"
    }

    /// Loads those of the decoder into this process, which starts nothing.
    ///
    /// - Returns: why they cannot be used; nil where they can be.
    static func load(_ drivers: DriverFiles) -> (reason: String, cause: ProbeCause)? {
        for name in DriverFiles.nvdecLibraries where dlopen(name, RTLD_LAZY | RTLD_LOCAL) == nil {
            if let refused = drivers.refused(of: .nvdec).first(where: { $0.driver == name }) {
                return ("NVIDIA's decoder cannot be used: \(refused.sentence)", .driverRefused)
            }
            let words = dlerror().map { String(cString: $0).printable(maxBytes: 300) } ?? "unknown error"
            return ("NVIDIA's decoder cannot be used: \(name) cannot be loaded: \(words)", .nvidiaDecoder)
        }
        return nil
    }
}
