// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import Synchronization

/// Who is told what libav complains of while it works for one owner: found in `opaque` of the owner's contexts.
open class LibAVListener: @unchecked Sendable {
    /// Nobody listening yet.
    public init() {}

    /// Told of one message, on whichever thread; `source` is the context that it is about, or a copy of it.
    open func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {}
}

/// What becomes of libav's own messages: kept for error sentences, shown only on request.
package enum LibAVLog {
    /// Whether libav's messages are also written to standard error; false at first.
    package static var isVerbose: Bool {
        get { verbose.load(ordering: .relaxed) }
        set { verbose.store(newValue, ordering: .relaxed) }
    }

    private static let verbose = Atomic<Bool>(false)
    private static let lines = Mutex<[String]>([])
    private static let keptLines = 4
    private static let lineSize = 512

    private static let installed: Void = av_log_set_callback { source, level, format, arguments in
        guard level <= AV_LOG_ERROR || (LibAVLog.isVerbose && level <= AV_LOG_INFO) else { return }
        // Optional on x86-64, where va_list is a pointer, and not on arm64: this line takes both.
        let optionalArguments: CVaListPointer? = arguments
        guard let arguments = optionalArguments else { return }
        var printPrefix: Int32 = 1
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: LibAVLog.lineSize) { line in
            guard let start = line.baseAddress else { return }
            av_log_format_line2(source, level, format, arguments, start, Int32(line.count), &printPrefix)
            LibAVLog.take(String(cString: start), from: source, isError: level <= AV_LOG_ERROR)
        }
    }

    /// Takes libav's log away from standard error; safe to call again and again.
    package static func install() { _ = installed }

    /// Forgets what was said so far, so that a later sentence does not tell of an earlier file.
    package static func forget() { lines.withLock { $0.removeAll() } }

    /// The last error libav told of, without the address in its prefix; nil when it said nothing.
    package static var lastError: String? { lines.withLock { $0.last } }

    /// `sentence`, followed by what libav had to say about it.
    package static func explain(_ sentence: String) -> String {
        guard let lastError else { return sentence }
        return "\(sentence) (\(lastError))"
    }

    /// Who listens to `source`: in `opaque` of the two kinds of context that owners fill in.
    ///
    /// Contexts that libav makes for itself have nothing there, and copies for its threads have the same.
    private static func listener(of source: UnsafeMutableRawPointer) -> LibAVListener? {
        let kind = source.load(as: UnsafePointer<AVClass>?.self)
        var opaque: UnsafeMutableRawPointer?
        if kind == avcodec_get_class() {
            opaque = source.assumingMemoryBound(to: AVCodecContext.self).pointee.opaque
        } else if kind == avformat_get_class() {
            let context = source.assumingMemoryBound(to: AVFormatContext.self)
            if context.pointee.iformat != nil { opaque = context.pointee.opaque }
        }
        return opaque.map { Unmanaged<LibAVListener>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func take(_ line: String, from source: UnsafeMutableRawPointer?, isError: Bool) {
        if isVerbose {
            var text = line
            text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
        guard isError else { return }
        let text = withoutAddress(line)
        guard !text.isEmpty else { return }
        if let source { listener(of: source)?.handleMessage(text, from: source) }
        lines.withLock { kept in
            kept.append(text)
            if kept.count > keptLines { kept.removeFirst() }
        }
    }

    /// Turns `[mov,mp4 @ 0x55…] moov atom not found` into `mov,mp4: moov atom not found`.
    private static func withoutAddress(_ line: String) -> String {
        let text = line.filter { !$0.isNewline }
        guard text.first == "[", let at = text.firstIndex(of: "@"), let end = text.firstIndex(of: "]"), at < end
        else { return text }
        let name = text[text.index(after: text.startIndex)..<at].filter { $0 != " " }
        return "\(name): \(text[text.index(after: end)...].drop { $0 == " " })"
    }
}
