// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// Watches the folders of device nodes for nodes that come, go or change (inotify(7)).
///
/// However many events there are, the nodes are looked at once in every `pause`.
final class NodeWatch {
    /// What identifies a node: after a device was removed, another one may have the same name.
    struct Identity: Hashable {
        private let device: dev_t
        private let inode: ino_t
        private let number: dev_t
        private let mode: mode_t
        private let owner: uid_t
        private let group: gid_t

        /// Nil where there is no such file.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode, number) = (status.st_dev, status.st_ino, status.st_rdev)
            (mode, owner, group) = (status.st_mode, status.st_uid, status.st_gid)
        }
    }

    /// Time between an event and a look at the nodes: rules of udev set their groups meanwhile.
    private static let pause = Duration.milliseconds(500)
    private static let events = UInt32(
        IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR)

    private let file: OwnedFD
    private let loop: EventLoop
    private let nodes: () -> [String]
    private let onChange: ([String]) -> Void
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var known: [String: Identity] = [:]

    /// Starts watching; nil where the system has no watch left.
    ///
    /// - Parameters:
    ///   - nodes: returns the nodes that the daemon uses now.
    ///   - onChange: gets the names of nodes that came, went or changed.
    init?(loop: EventLoop, nodes: @escaping () -> [String], onChange: @escaping ([String]) -> Void) {
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard number >= 0 else { return nil }
        file = OwnedFD(number)
        (self.loop, self.nodes, self.onChange) = (loop, nodes, onChange)
        guard let watch = try? loop.watch(number, .readable, { [weak self] _ in self?.happened() }) else {
            return nil
        }
        self.watch = watch
        known = look()
    }

    deinit {
        loop.cancel(timer)
        if let watch { loop.remove(watch) }
    }

    /// Looks at the nodes again, because the list of them has changed.
    func refresh() { known = look() }

    /// The nodes that exist; watches their folders, or what these will appear in.
    private func look() -> [String: Identity] {
        for folder in Set(nodes().map(Self.folder) + ["/dev/dri"]) where !watch(folder) {
            watchForNew(in: Self.folder(of: folder))
            // It may have appeared before the watch of the folder above.
            _ = watch(folder)
        }
        // The nodes of NVIDIA's cards, once their module is loaded.
        watchForNew(in: "/dev")
        // Listed after the watches were set: what comes later has an event.
        return nodes().reduce(into: [:]) { $0[$1] = Identity($1) }
    }

    /// Watches a folder for nodes; a second watch of the same folder replaces the first.
    private func watch(_ folder: String) -> Bool {
        inotify_add_watch(file.rawValue, folder, Self.events) >= 0
    }

    /// Watches a folder for files that appear, and for what else it is watched already.
    private func watchForNew(in folder: String) {
        inotify_add_watch(
            file.rawValue, folder, UInt32(IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_MASK_ADD))
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private func happened() {
        // Names do not matter; what is left in the queue is read the next time.
        var buffer = [UInt8](repeating: 0, count: 16384)
        _ = read(file.rawValue, &buffer, buffer.count)
        guard timer == nil else { return }
        timer = loop.after(Self.pause) { [weak self] in self?.compare() }
    }

    private func compare() {
        timer = nil
        let before = known
        known = look()
        let changed = Set(before.keys).union(known.keys).filter { before[$0] != known[$0] }
        if !changed.isEmpty { onChange(changed.sorted()) }
    }
}
