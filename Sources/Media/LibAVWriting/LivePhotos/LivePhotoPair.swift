// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDBoxes
internal import HWDHEIF
internal import HWDLibAVReading
public import HWDMetadata
internal import HWDSystem
internal import HWImages

/// Both parts of a Live Photo.
public enum LivePhotoPair {
    /// Where the parts are written, and what they get.
    public struct Request: Sendable {
        /// The HEIC file, and where it is written.
        public var still: (input: String, output: String)
        /// The movie, and where it is written.
        public var clip: (input: String, output: String)
        public var identifier: String
        /// When the still picture was taken, in seconds of the clip.
        public var time: Double
        /// Whether files that have the outputs' names are replaced.
        public var replaces = true

        public init(
            still: (input: String, output: String), clip: (input: String, output: String), identifier: String,
            time: Double
        ) {
            (self.still, self.clip, self.identifier, self.time) = (still, clip, identifier, time)
        }
    }

    /// Writes both parts, which get their names together once both are complete and on the disk.
    ///
    /// - Parameter isInterrupted: polled while files are copied.
    /// - Returns: what is lost, in one line; nil where nothing is.
    /// - Throws: `badInput`, `unsupported` for files that cannot be parts; `cannotCreate`, `cannotWrite`, `io`,
    ///   `interrupted`.
    public static func write(
        _ request: Request, isInterrupted: () -> Bool = { false }
    ) throws(MediaError) -> String? {
        guard let still = try StillInput.open(request.still.input), let primary = still.file.primary else {
            throw MediaError(.badInput, "\(request.still.input) is no HEIC file")
        }
        let (edit, keepsNote): (FileEdit, Bool)
        do throws(HEIFError) {
            (edit, keepsNote) = try exif(still, primary, request.identifier)
        } catch { throw MediaError(error, still.path) }
        let group = FileGroup(replaces: request.replaces)
        let picture = try copy(request.still, group, isInterrupted)
        for patch in edit.patches { try put(patch.bytes, picture, at: patch.offset) }
        try put(edit.appended, picture, at: still.source.length)
        let clip = try copy(request.clip, group, isInterrupted)
        try addTrack(clip, request)
        // Both are on the disk before the first one replaces anything.
        try picture.commit(sync: true)
        try clip.commit(sync: true)
        try group.commit()
        return keepsNote ? nil : "the MakerNote of another maker in \(request.still.input) is replaced"
    }

    /// The identifier of a HEIC file's primary picture; nil without one.
    ///
    /// - Throws: `badInput` for a file that is no HEIC file, or damaged.
    public static func identifier(ofStill path: String) throws(MediaError) -> String? {
        guard let still = try StillInput.open(path), let primary = still.file.primary else {
            throw MediaError(.badInput, "\(path) is no HEIC file")
        }
        guard let item = still.file.metadata(of: primary).first(where: { $0.kind == .exif }) else { return nil }
        return ExifFields(tiff: try still.tiff(of: item.id))?.contentIdentifier
    }

    private static func exif(
        _ still: StillInput, _ primary: UInt32, _ identifier: String
    ) throws(HEIFError) -> (edit: FileEdit, keepsNote: Bool) {
        var editor = ExifEditor()
        if let item = still.file.metadata(of: primary).first(where: { $0.kind == .exif }) {
            guard let known = ExifEditor(try still.file.exif(item.id, from: still.source)) else {
                throw HEIFError(.malformed, "its Exif is damaged")
            }
            editor = known
        }
        let keepsNote = try editor.setContentIdentifier(identifier)
        return (try still.file.replacingExif(of: primary, with: editor.tiff, from: still.source), keepsNote)
    }

    private static func addTrack(_ file: AtomicFile, _ request: Request) throws(MediaError) {
        do throws(BoxError) {
            let entries = try MovieFile.entries(file.descriptor)
            let end = entries.last?.end ?? 0
            let data = Box("mdat", StillTimeTrack.sample)
            let error = data.bytes.withUnsafeBytes {
                PositionedIO.write(file.descriptor, $0, at: Int64(end))
            }
            guard error == 0 else { throw BoxError(MediaError.text(ofErrno: error), isIO: true) }
            try MovieFile.finish(file.descriptor) { movie throws(BoxError) in
                try LivePhotoClip.edit(
                    &movie, request.identifier, time: request.time, sampleAt: end + UInt64(Box.headerSize))
            }
        } catch {
            guard !error.isIO else {
                throw MediaError(.cannotWrite, "\(file.path) cannot be written: \(error.reason)")
            }
            throw MediaError(.badInput, "\(request.clip.input): \(error.reason)")
        }
    }

    /// Bytes that are copied at once.
    private static let blockSize = 4 << 20

    /// A copy of a file, which gets its name later.
    private static func copy(
        _ file: (input: String, output: String), _ group: FileGroup, _ isInterrupted: () -> Bool
    ) throws(MediaError) -> AtomicFile {
        let source = open(FileName.bytes(file.input), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard source >= 0 else { throw .opening(file.input, errno: errno) }
        defer { close(source) }
        let target = try group.file(path: file.output, inputs: [])
        var block = [UInt8](repeating: 0, count: blockSize)
        var offset: Int64 = 0
        while true {
            if isInterrupted() { throw MediaError(.interrupted, "\(file.output): interrupted") }
            let count = pread(source, &block, block.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw MediaError(.io, "\(file.input) cannot be read: \(MediaError.text(ofErrno: errno))")
            }
            guard count > 0 else { return target }
            try put(Array(block.prefix(count)), target, at: UInt64(offset))
            offset += Int64(count)
        }
    }

    private static func put(_ bytes: [UInt8], _ file: AtomicFile, at offset: UInt64) throws(MediaError) {
        let error = bytes.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: Int64(offset)) }
        guard error == 0 else {
            throw MediaError(.cannotWrite, "\(file.path) cannot be written: \(MediaError.text(ofErrno: error))")
        }
    }
}
