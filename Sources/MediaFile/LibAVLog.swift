// SPDX-License-Identifier: GPL-2.0-or-later
internal import CLibAV
internal import Glibc
internal import Synchronization

/// What becomes of libav's own messages: kept for error sentences, shown only on request.
public enum LibAVLog {
    /// Whether libav's messages are also written to standard error; false at first.
    public static var isVerbose: Bool {
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
            LibAVLog.take(
                String(cString: start), tally: level <= AV_LOG_ERROR ? LibAVLog.tally(of: source) : nil,
                isError: level <= AV_LOG_ERROR)
        }
    }

    /// Takes libav's log away from standard error; safe to call again and again.
    static func install() { _ = installed }

    /// Forgets what was said so far, so that a later sentence does not tell of an earlier file.
    static func forget() { lines.withLock { $0.removeAll() } }

    /// The last error libav told of, without the address in its prefix; nil when it said nothing.
    static var lastError: String? { lines.withLock { $0.last } }

    /// `sentence`, followed by what libav had to say about it.
    static func explain(_ sentence: String) -> String {
        guard let lastError else { return sentence }
        return "\(sentence) (\(lastError))"
    }

    /// The tally of the file that `source`, whoever it is, works on: in `opaque` of the two contexts we fill in.
    ///
    /// Contexts that libav makes for itself have nothing there, and copies for its threads have the same.
    private static func tally(of source: UnsafeMutableRawPointer?) -> ErrorTally? {
        guard let source else { return nil }
        let kind = source.load(as: UnsafePointer<AVClass>?.self)
        if kind == avcodec_get_class() {
            let context = source.assumingMemoryBound(to: AVCodecContext.self)
            return context.pointee.opaque.map {
                Unmanaged<DecoderHooks>.fromOpaque($0).takeUnretainedValue().tally
            }
        }
        if kind == avformat_get_class() {
            let context = source.assumingMemoryBound(to: AVFormatContext.self)
            guard context.pointee.iformat != nil else { return nil }
            return context.pointee.opaque.map { Unmanaged<ErrorTally>.fromOpaque($0).takeUnretainedValue() }
        }
        return nil
    }

    private static func take(_ line: String, tally: ErrorTally?, isError: Bool) {
        if isVerbose {
            var text = line
            text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
        guard isError else { return }
        let text = withoutAddress(line)
        guard !text.isEmpty else { return }
        tally?.add(text)
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
