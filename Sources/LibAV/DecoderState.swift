// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Synchronization

/// What libavcodec's callbacks find and leave behind: picture buffers, complaints by packet, and the pixels it chose.
///
/// libavcodec conceals damage and gives the picture out all the same; its log is where it tells. Each of its threads
/// has a context of its own, and the buffer that a thread asks for last says which packet it is at.
final class DecoderState: LibAVListener, @unchecked Sendable {
    private struct Work {
        /// The packet each context is at.
        var current: [UInt: Int64] = [:]
        /// Packets sent for which no buffer was asked yet, oldest first.
        var notBegun: [Int64] = []
        var complaints: [(sequence: Int64?, text: String)] = []
        /// Why pictures are not decoded in hardware.
        var softwareReason: String?
        /// What the driver failed at.
        var hardwareFailure: String?
    }

    /// Where pictures go; nil leaves them in libavcodec's own memory.
    private(set) var buffers: DirectBuffers?
    /// Whether surfaces of a VA-API driver are wanted.
    private(set) var wantsHardware = false
    private let work = Mutex(Work())

    /// Complaints kept between two looks; a damaged picture may have thousands.
    private static let maxComplaints = 256
    /// Packets that may be without a picture: more than any decoder holds.
    private static let maxNotBegun = 64

    override init() { super.init() }

    /// For a decoder with these buffers; neither changes once it is open.
    convenience init(buffers: DirectBuffers?, wantsHardware: Bool) {
        self.init()
        self.buffers = buffers
        self.wantsHardware = wantsHardware
    }

    /// A packet goes to the decoder.
    func sent(_ sequence: Int64) {
        work.withLock { work in
            work.notBegun.append(sequence)
            if work.notBegun.count > Self.maxNotBegun { work.notBegun.removeFirst() }
        }
    }

    /// A context asks for a buffer for a packet's picture.
    func begun(_ sequence: Int64, _ context: UnsafeMutablePointer<AVCodecContext>) {
        work.withLock { work in
            work.current[UInt(bitPattern: context)] = sequence
            work.notBegun.removeAll { $0 == sequence }
        }
    }

    /// A picture came out: what its context says from now on is about another packet.
    func ended(_ sequence: Int64) {
        work.withLock { work in
            for (context, current) in work.current where current == sequence { work.current[context] = nil }
        }
    }

    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        work.withLock { work in
            // What libavcodec says of VA-API calls begins so (vaapi_decode.c); the stream may be sound.
            if wantsHardware, message.contains(": Failed to ") || message.contains("hardware accelerator failed") {
                work.hardwareFailure = work.hardwareFailure ?? message
                return
            }
            guard work.complaints.count < Self.maxComplaints else { return }
            // Before a buffer is asked for, it is the oldest packet that has none.
            let sequence = work.current[UInt(bitPattern: source)] ?? work.notBegun.first
            work.complaints.append((sequence, message))
        }
    }

    /// A call failed without a word in the log.
    func failed(_ reason: String) {
        work.withLock { work in
            guard work.complaints.isEmpty else { return }
            work.complaints.append((work.notBegun.first, reason))
        }
    }

    /// The complaints since the last look, one a packet: the first.
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

    /// What the driver failed at since the last look.
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
            if wantsHardware, position.pointee == AV_PIX_FMT_VAAPI {
                softwareReason = nil
                return AV_PIX_FMT_VAAPI
            }
            let flags = av_pix_fmt_desc_get(position.pointee)?.pointee.flags ?? 0
            if software == AV_PIX_FMT_NONE, flags & UInt64(AV_PIX_FMT_FLAG_HWACCEL) == 0 {
                software = position.pointee
            }
            position += 1
        }
        if wantsHardware {
            work.withLock { work in
                // That a context does not open is no fault of the packet.
                let failure = work.hardwareFailure ?? work.complaints.last?.text
                (work.hardwareFailure, work.complaints) = (nil, [])
                work.softwareReason =
                    "libavcodec gets no VA-API surfaces for this stream" + (failure.map { " (\($0))" } ?? "")
            }
        }
        return software
    }
}
