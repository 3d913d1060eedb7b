// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import Synchronization

/// Receives libav's error messages about one owner's contexts, which hold it in `opaque`.
open class LibAVListener: @unchecked Sendable {
    /// A listener that ignores messages.
    public init() {}

    /// Handles one message, on any thread; `source` is the context that it is about, or a copy for one of its threads.
    open func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {}
}

/// libav's log: errors are kept for error messages, and printed only on request.
package enum LibAVLog {
    /// Whether libav's messages are also written to standard error; false at first.
    package static var isVerbose: Bool {
        get { verbose.load(ordering: .relaxed) }
        set { verbose.store(newValue, ordering: .relaxed) }
    }

    /// Whether messages that say what hardware lacks are kept like errors; false at first.
    static var keepsLimits: Bool {
        get { limits.load(ordering: .relaxed) }
        set { limits.store(newValue, ordering: .relaxed) }
    }

    private static let verbose = Atomic<Bool>(false)
    private static let limits = Atomic<Bool>(false)
    /// The beginnings of messages, by their contexts.
    private static let begun = Mutex<[UInt: String]>([:])
    private static let maxBegun = 16
    private static let lines = Mutex<[String]>([])
    private static let keptLines = 12
    private static let lineSize = 512

    private static let installed: Void = av_log_set_callback { source, level, format, arguments in
        let mayBeLimit = (level == AV_LOG_VERBOSE || level == AV_LOG_WARNING) && LibAVLog.keepsLimits
        guard level <= AV_LOG_ERROR || mayBeLimit || (LibAVLog.isVerbose && level <= AV_LOG_INFO) else { return }
        // va_list is imported as optional on x86-64, where it is a pointer, and as non-optional on arm64.
        let optionalArguments: CVaListPointer? = arguments
        guard let arguments = optionalArguments else { return }
        let context = UInt(bitPattern: source)
        let form = format.map { String(cString: $0) } ?? ""
        var beginning = LibAVLog.begun.withLock { $0.removeValue(forKey: context) }
        if let whole = beginning, !LogFinding.continues(format: form) {
            LibAVLog.take(whole + "\n", from: source, isError: true)
            beginning = nil
        }
        var printPrefix: Int32 = beginning == nil ? 1 : 0
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: LibAVLog.lineSize) { line in
            guard let start = line.baseAddress else { return }
            av_log_format_line2(source, level, format, arguments, start, Int32(line.count), &printPrefix)
            let text = (beginning ?? "") + String(cString: start)
            let isError = level <= AV_LOG_ERROR
            if mayBeLimit {
                if LogFinding.isLimit(text) { LibAVLog.keep(LibAVLog.withoutAddress(text)) }
            } else if !isError || !(beginning != nil || LogFinding.isBegun(format: form))
                || !LibAVLog.wait(text, context)
            {
                LibAVLog.take(text, from: source, isError: isError)
            }
        }
    }

    /// Redirects libav's log from standard error; further calls have no effect.
    package static func install() { _ = installed }

    /// Discards the errors so far, so that a later error message does not quote one about another file.
    package static func forget() { lines.withLock { $0.removeAll() } }

    /// libav's last errors, oldest first, without the addresses in their prefixes.
    package static var errors: [String] { lines.withLock { $0 } }

    /// libav's last error, without the address in its prefix; nil when there was none.
    package static var lastError: String? { lines.withLock { $0.last } }

    /// `sentence`, followed by libav's last error in parentheses.
    package static func explain(_ sentence: String) -> String {
        guard let lastError else { return sentence }
        return "\(sentence) (\(lastError))"
    }

    /// The listener of `source`, from the `opaque` field of a codec or format context.
    ///
    /// Contexts that libav makes for itself have none; copies for its threads have the original's.
    private static func listener(of source: UnsafeMutableRawPointer) -> LibAVListener? {
        let kind = source.load(as: UnsafePointer<AVClass>?.self)
        var opaque: UnsafeMutableRawPointer?
        if kind == avcodec_get_class() {
            opaque = source.assumingMemoryBound(to: AVCodecContext.self).pointee.opaque
        } else if let kind, strcmp(kind.pointee.class_name, "AVFormatContext") == 0 {
            // By its name: a decoder's process does not load libavformat.
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
        guard !text.isEmpty, LogFinding(text) != .ignoredLayers else { return }
        if let source { listener(of: source)?.handleMessage(text, from: source) }
        keep(text)
    }

    private static func keep(_ text: String) {
        lines.withLock { kept in
            kept.append(text)
            if kept.count > keptLines { kept.removeFirst() }
        }
    }

    /// Keeps the beginning of a message until the rest comes, in the next calls of the same thread; false for a whole one.
    private static func wait(_ text: String, _ context: UInt) -> Bool {
        guard text.utf8.last != UInt8(ascii: "\n"), text.utf8.count < lineSize else { return false }
        return begun.withLock { begun in
            guard begun.count < maxBegun else { return false }
            begun[context] = text
            return true
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
