// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel
internal import Synchronization

/// The state that libavcodec's callbacks share with a decoder: picture buffers, complaints by packet, the chosen format.
///
/// libavcodec conceals damage and returns the picture all the same; only its log reports the damage. Each of its
/// threads has its own context, and the last buffer that a context requested identifies the packet it decodes.
final class DecoderState: LibAVListener, @unchecked Sendable {
    private struct Work {
        /// The packet that each context decodes.
        var current: [UInt: Int64] = [:]
        /// Packets sent for which no buffer was requested yet, oldest first.
        var unstarted: [Int64] = []
        var complaints: [(sequence: Int64?, text: String)] = []
        var softwareReason: String?
        var hardwareFailure: String?
    }

    /// Where pictures are decoded into; nil for libavcodec's own memory.
    private(set) var buffers: DirectBuffers?
    /// What pictures are to be decoded by; nil for software.
    private(set) var interface: CodecInterface?
    private let work = Mutex(Work())

    /// Complaints kept between two calls of `takeComplaints`; one damaged picture may cause thousands.
    private static let maxComplaints = 256
    /// Packets that may be without a picture: more than any decoder holds.
    private static let maxUnstarted = 64

    override init() { super.init() }

    /// State of a decoder with these buffers; neither value changes once it is open.
    convenience init(buffers: DirectBuffers?, interface: CodecInterface?) {
        self.init()
        self.buffers = buffers
        self.interface = interface
    }

    /// Notes that a packet is sent to the decoder.
    func packetSent(_ sequence: Int64) {
        work.withLock { work in
            work.unstarted.append(sequence)
            if work.unstarted.count > Self.maxUnstarted { work.unstarted.removeFirst() }
        }
    }

    /// Notes that a context requested a buffer for a packet's picture.
    func pictureStarted(_ sequence: Int64, _ context: UnsafeMutablePointer<AVCodecContext>) {
        work.withLock { work in
            work.current[UInt(bitPattern: context)] = sequence
            work.unstarted.removeAll { $0 == sequence }
        }
    }

    /// Notes that a picture was returned: later messages of its context are about another packet.
    func pictureReturned(_ sequence: Int64) {
        work.withLock { work in
            for (context, current) in work.current where current == sequence { work.current[context] = nil }
        }
    }

    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        work.withLock { work in
            if interface != nil, LogFinding(message) == .driverFailure {
                work.hardwareFailure = work.hardwareFailure ?? message
                return
            }
            guard work.complaints.count < Self.maxComplaints else { return }
            // Before a context requests a buffer, it decodes the oldest packet that has none.
            let sequence = work.current[UInt(bitPattern: source)] ?? work.unstarted.first
            work.complaints.append((sequence, message))
        }
    }

    /// Notes a failed call, unless the log already has the reason.
    func callFailed(_ reason: String) {
        work.withLock { work in
            guard work.complaints.isEmpty, work.hardwareFailure == nil else { return }
            work.complaints.append((work.unstarted.first, reason))
        }
    }

    /// The complaints since the last call, the first of each packet.
    func takeComplaints() -> [(sequence: Int64?, text: String)] {
        work.withLock { work in
            guard !work.complaints.isEmpty else { return [] }
            defer { work.complaints.removeAll() }
            var seen: Set<Int64?> = []
            return work.complaints.filter { seen.insert($0.sequence).inserted }
        }
    }

    /// Why libavcodec does not decode in hardware; nil while it does, or was not asked to.
    var softwareReason: String? {
        get { work.withLock { $0.softwareReason } }
        set { work.withLock { $0.softwareReason = newValue } }
    }

    /// The driver's first failure since the last call.
    func takeHardwareFailure() -> String? {
        work.withLock { work in
            defer { work.hardwareFailure = nil }
            return work.hardwareFailure
        }
    }

    /// Chooses among the pixel formats that libavcodec offers, best first.
    func choose(_ offered: UnsafePointer<AVPixelFormat>) -> AVPixelFormat {
        var software = AV_PIX_FMT_NONE
        var position = offered
        while position.pointee != AV_PIX_FMT_NONE {
            if let interface, position.pointee == interface.surfaceFormat {
                softwareReason = nil
                // What is logged from now on is about this attempt.
                if interface == .nvidia { LibAVLog.forget() }
                return interface.surfaceFormat
            }
            let flags = av_pix_fmt_desc_get(position.pointee)?.pointee.flags ?? 0
            if software == AV_PIX_FMT_NONE, flags & UInt64(AV_PIX_FMT_FLAG_HWACCEL) == 0 {
                software = position.pointee
            }
            position += 1
        }
        if let interface { noteSoftwareFallback(from: interface) }
        return software
    }

    private func noteSoftwareFallback(from interface: CodecInterface) {
        work.withLock { work in
            // The complaints so far are about a context that did not open, and not about the packet.
            let limit = interface == .nvidia ? NVDEC.reason(LibAVLog.errors)?.text : nil
            let failure = limit ?? work.hardwareFailure ?? work.complaints.last?.text
            (work.hardwareFailure, work.complaints) = (nil, [])
            work.softwareReason =
                "libavcodec gets no \(interface.decoderName) surfaces for this stream"
                + (failure.map { " (\($0))" } ?? "")
        }
    }
}
