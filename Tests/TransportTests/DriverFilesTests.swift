// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDSystem
import HWDWire
import Testing

@testable import HWDTransport

/// A folder of files for one test.
private final class Tree {
    let root: String

    init() throws {
        var template = Array("/tmp/hwd-drivers-XXXXXX".utf8CString)
        let made = mkdtemp(&template).map { String(cString: $0) }
        root = try #require(made.flatMap(ResolvedPath.of))
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    @discardableResult
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try FileManager.default.createDirectory(
            atPath: path(name).parentFolder, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: path(name)))
        return path(name)
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createDirectory(
            atPath: path(name).parentFolder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
    }

    func manifest(_ name: String, of library: String, more: String = "") throws {
        try write(name, #"{"file_format_version": "1.0.0", "ICD": {"library_path": "\#(library)"\#(more)}}"#.utf8)
    }

    /// The files of drivers with these variables, where nothing is granted but what a test makes so.
    func drivers(_ variables: [String: String], granted: [String] = [], cache: String = "") -> DriverFiles {
        // No driver of this machine.
        let none = [
            "VK_DRIVER_FILES": path("none.json"), "VK_IMPLICIT_LAYER_PATH": path("none"),
            "LIBVA_DRIVERS_PATH": path("none"), "__EGL_VENDOR_LIBRARY_DIRS": path("none"),
        ]
        let variables = none.merging(variables) { $1 }.filter { !$0.value.isEmpty }
        return DriverFiles(
            environment: { variables[$0] }, granted: ["/usr/lib", "/lib"] + granted, linkerCache: path(cache))
    }
}

/// A shared library with the entries of a dynamic section, and nothing else.
private func library(_ entries: [(tag: UInt64, text: String)] = []) -> [UInt8] {
    func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
    #if arch(x86_64)
        let machine: UInt16 = 62
    #else
        let machine: UInt16 = 183
    #endif
    var strings: [UInt8] = [0]
    var dynamic: [UInt8] = []
    for (tag, text) in entries {
        dynamic += bytes(tag) + bytes(UInt64(strings.count))
        strings += Array(text.utf8) + [0]
    }
    let start = UInt64(64 + 2 * 56)
    let table = start + UInt64(dynamic.count) + 48
    dynamic += bytes(UInt64(5)) + bytes(0x10000 + table) + bytes(UInt64(10)) + bytes(UInt64(strings.count))
    dynamic += bytes(UInt64(0)) + bytes(UInt64(0))
    let size = table + UInt64(strings.count)
    func segment(_ type: UInt32, _ offset: UInt64, _ size: UInt64) -> [UInt8] {
        bytes(type) + bytes(UInt32(4)) + bytes(offset) + bytes(0x10000 + offset) + bytes(0x10000 + offset)
            + bytes(size) + bytes(size) + bytes(UInt64(8))
    }
    var file: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    file += bytes(UInt16(3)) + bytes(machine) + bytes(UInt32(1)) + bytes(UInt64(0)) + bytes(UInt64(64))
    file += bytes(UInt64(0)) + bytes(UInt32(0)) + bytes(UInt16(64)) + bytes(UInt16(56)) + bytes(UInt16(2))
    file += bytes(UInt16(0)) + bytes(UInt16(0)) + bytes(UInt16(0))
    return file + segment(1, 0, size) + segment(2, start, UInt64(dynamic.count)) + dynamic + strings
}

private let (needed, rPath, runPath): (UInt64, UInt64, UInt64) = (1, 15, 29)

@Suite("Files of drivers") struct DriverFilesTests {
    @Test("A manifest that is a link is granted with the folder of its library, which the linker finds by its name")
    func links() throws {
        let tree = try Tree()
        // As on a machine of a cloud: the package's folder elsewhere, links to it in the system's.
        try tree.manifest("nvidia/share/icd.json", of: "libGLX_vendor.so.0")
        try tree.link("share/vulkan/icd.d/vendor_icd.json", to: "../../../alternatives/icd.json")
        try tree.link("alternatives/icd.json", to: tree.path("nvidia/share/icd.json"))
        try tree.write("nvidia/lib64/libGLX_vendor.so.580", library())
        try tree.link("nvidia/lib64/libGLX_vendor.so.0", to: "libGLX_vendor.so.580")
        let drivers = tree.drivers([
            "VK_DRIVER_FILES": "", "XDG_DATA_DIRS": tree.path("share"),
            "LD_LIBRARY_PATH": tree.path("nvidia/lib64"),
        ])
        let rights = Dictionary(drivers.rows.map { ($0.path, $0.rights) }) { $0.union($1) }
        #expect(rights[tree.path("share/vulkan/icd.d")] == .read)
        #expect(rights[tree.path("nvidia/share/icd.json")] == .readFile)
        #expect(rights[tree.path("nvidia/lib64")] == .read)
        #expect(drivers.drivers(of: .vulkan).contains(tree.path("share/vulkan/icd.d/vendor_icd.json")))
        #expect(drivers.refused(of: .vulkan).isEmpty)
        #expect(rights[tree.path("nvidia")] == nil && rights[tree.root] == nil && rights["/tmp"] == nil)
    }

    @Test(
        "What a library needs is found by its own folders, those of the library that loaded it, and the linker's list"
    )
    func needs() throws {
        let tree = try Tree()
        try tree.manifest("icd.json", of: tree.path("driver/libdriver.so"))
        try tree.write(
            "driver/libdriver.so",
            library([
                (needed, "libown.so.1"), (needed, "liblisted.so.1"),
                (runPath, "$ORIGIN/../own:\(tree.path("far"))"),
            ]))
        // A DT_RUNPATH is not passed on; a DT_RPATH is, as far as no DT_RUNPATH replaces it.
        try tree.write("own/libown.so.1", library([(needed, "libfar.so.1"), (rPath, tree.path("passed"))]))
        try tree.write("far/libfar.so.1", library())
        try tree.write(
            "listed/liblisted.so.1", library([(needed, "libpassed.so.1"), (rPath, tree.path("passed"))]))
        try tree.write("passed/libpassed.so.1", library([(needed, "libdeep.so.1")]))
        try tree.write("passed/libdeep.so.1", library([(needed, "libdeep.so.1")]))
        try tree.write("list", cache([("liblisted.so.1", tree.path("listed/liblisted.so.1"))]))
        let drivers = tree.drivers(["VK_DRIVER_FILES": tree.path("icd.json")], cache: "list")
        let folders = Set(drivers.rows.map(\.path))
        for name in ["driver", "own", "listed", "passed"] {
            #expect(folders.contains(tree.path(name)), "\(name): \(folders)")
        }
        #expect(!folders.contains(tree.path("far")))
    }

    @Test("Folders that others can write, or that hold more than a driver, are refused with the reason")
    func refusals() throws {
        let tree = try Tree()
        try tree.manifest("icd.json", of: "open/libdriver.so")
        try tree.write("open/libdriver.so", library())
        try #require(chmod(tree.path("open"), 0o777) == 0)
        func refused(_ drivers: DriverFiles) -> RefusedDriver? { drivers.refused(of: .vulkan).first }
        let open = try #require(refused(tree.drivers(["VK_DRIVER_FILES": tree.path("icd.json")])))
        #expect(open.driver == tree.path("icd.json") && open.path == tree.path("open/libdriver.so"))
        #expect(open.reason.contains("other than root") && open.reason.contains(tree.path("open")))
        // What an administrator names is granted, whoever can write it.
        let named = tree.drivers(["VK_DRIVER_FILES": tree.path("icd.json")], granted: [tree.root])
        #expect(refused(named) == nil && named.rows.isEmpty)
        // A folder of another user, in which that one can replace the driver.
        try #require(chmod(tree.path("open"), 0o755) == 0)
        #expect(refused(tree.drivers(["VK_DRIVER_FILES": tree.path("icd.json")])) == nil)
        try tree.write("lib", cache([("libdriver.so.1", "/tmp/hwd-driver-\(getpid()).so")]))
        try Data(library()).write(to: URL(filePath: "/tmp/hwd-driver-\(getpid()).so"))
        defer { unlink("/tmp/hwd-driver-\(getpid()).so") }
        try tree.manifest("listed.json", of: "libdriver.so.1")
        let shared = refused(tree.drivers(["VK_DRIVER_FILES": tree.path("listed.json")], cache: "lib"))
        #expect(shared?.reason == "refused, because /tmp holds more than a driver")
        let rule = FolderRule(granted: [])
        for folder in ["/", "/home", "/home/alice", "/root", "/tmp", "/usr", "/etc", "/opt"] {
            #expect(rule.fault(ofFolder: folder) != nil, "\(folder)")
        }
        #expect(rule.fault(ofFolder: "/usr/lib") == nil)
    }

    @Test("Access control lists that let others write, and owners whom a user namespace does not know, are refused")
    func lists() throws {
        let tree = try Tree()
        try tree.write("driver/libdriver.so", library())
        let folder = tree.path("driver")
        let rule = FolderRule(granted: [])
        typealias Name = UnsafePointer<CChar>
        typealias Call = @convention(c) (Name, Name, UnsafeRawPointer, Int, Int32) -> Int32
        let setAttribute = unsafeBitCast(try #require(dlsym(nil, "setxattr")), to: Call.self)
        let stranger = geteuid() + 4321
        // acl(5), linux/posix_acl_xattr.h: the owner's, users', the group's, groups', the mask's and others' entries.
        let (user, group): (UInt8, UInt8) = (2, 8)
        func fault(_ tag: UInt8, _ rights: UInt8, _ number: UInt32, mask: UInt8) throws -> String? {
            var bytes: [UInt8] = [2, 0, 0, 0]
            let entries: [(UInt8, UInt8, UInt32)] = [
                (1, 7, .max), (4, 5, .max), (tag, rights, number), (16, mask, .max), (32, 5, .max),
            ]
            for (tag, rights, number) in entries.sorted(by: { $0.0 < $1.0 }) {
                bytes += [tag, 0, rights, 0] + withUnsafeBytes(of: number.littleEndian) { Array($0) }
            }
            let result = setAttribute(tree.path("driver"), "system.posix_acl_access", bytes, bytes.count, 0)
            try #require(result == 0, "\(errno)")
            return rule.fault(ofFolder: folder)
        }
        let reason =
            "refused, because an access control list lets users other than root and the daemon's write \(folder)"
        #expect(try fault(user, 7, stranger, mask: 7) == reason)
        #expect(try fault(group, 6, stranger, mask: 7) == reason)
        #expect(try fault(user, 7, geteuid(), mask: 7) == nil)
        #expect(try fault(user, 5, stranger, mask: 7) == nil)
        // The mask takes the right away.
        #expect(try fault(user, 7, stranger, mask: 5) == nil)

        #expect(
            FolderRule(granted: [], unknown: geteuid()).fault(ofFolder: tree.path("driver"))
                == "refused, because the owner of \(folder) is not known in this user namespace")
    }

    @Test("Manifests and links that others can write open no folder, and files that are no libraries neither")
    func hostileManifests() throws {
        let tree = try Tree()
        func check(_ manifest: String, names folder: String, _ path: String, _ reason: String) throws {
            let drivers = tree.drivers(["VK_DRIVER_FILES": tree.path(manifest)])
            #expect(!drivers.rows.contains { $0.path == tree.path(folder) }, "\(manifest)")
            let refused = try #require(drivers.refused(of: .vulkan).first)
            #expect(refused.driver == tree.path(manifest) && refused.path == tree.path(path))
            #expect(refused.reason.contains(reason), "\(refused.reason)")
        }
        try tree.write("keys/id", "a key".utf8)
        try tree.manifest("key.json", of: "./keys/id")
        try check("key.json", names: "keys", "./keys/id", "no library")

        try tree.write("lib/libdriver.so", library())
        try tree.manifest("written.json", of: "./lib/libdriver.so")
        try #require(chmod(tree.path("written.json"), 0o666) == 0)
        try check("written.json", names: "lib", "written.json", "can write \(tree.path("written.json"))")

        try tree.manifest("real/icd.json", of: "./libdriver.so")
        try tree.write("real/libdriver.so", library())
        try tree.link("open/icd.d", to: "../real")
        try #require(chmod(tree.path("open"), 0o777) == 0)
        try check("open/icd.d/icd.json", names: "real", "open/icd.d/icd.json", "can write \(tree.path("open"))")
        try #require(chmod(tree.path("open"), 0o755) == 0)
        #expect(
            tree.drivers(["VK_DRIVER_FILES": tree.path("open/icd.d/icd.json")]).rows.contains {
                $0.path == tree.path("real")
            })
        try tree.link("loop", to: "loop")
        #expect(FolderRule(granted: []).fault(ofLinksIn: tree.path("loop")) != nil)
    }

    @Test("Manifests of another architecture, damaged ones and layers")
    func manifests() throws {
        let tree = try Tree()
        try tree.manifest("narrow.json", of: "a.so", more: #", "library_arch": "32""#)
        try tree.write("damaged.json", "{".utf8)
        try tree.write("hostile.json", String(repeating: "[", count: 100_000).utf8)
        let files = ["narrow", "damaged", "hostile", "missing"].map { tree.path("\($0).json") }
        let drivers = tree.drivers(["VK_DRIVER_FILES": files.joined(separator: ":")])
        #expect(drivers.drivers(of: .vulkan) == [tree.path("damaged.json"), tree.path("hostile.json")])
        #expect(drivers.refused(of: .vulkan).isEmpty)
        try tree.write("layers/a.json", #"{"layer": {"name": "a", "library_path": "../lib/liba.so"}}"#.utf8)
        try tree.write("layers/b.json", #"{"layers": [{"name": "b", "library_path": "../lib2/libb.so"}]}"#.utf8)
        try tree.write("lib/liba.so", library())
        try tree.write("lib2/libb.so", library())
        let layers = tree.drivers(["VK_IMPLICIT_LAYER_PATH": tree.path("layers")])
        #expect(Set(layers.rows.map(\.path)).isSuperset(of: [tree.path("lib"), tree.path("lib2")]))
    }

    @Test("A VA-API driver's own needs are granted too")
    func video() throws {
        let tree = try Tree()
        try tree.write(
            "dri/vendor_drv_video.so", library([(needed, "libcore.so.1"), (runPath, tree.path("core"))]))
        try tree.write("core/libcore.so.1", library())
        let drivers = tree.drivers(["LIBVA_DRIVERS_PATH": tree.path("dri")])
        #expect(drivers.drivers(of: .vaapi) == [tree.path("dri/vendor_drv_video.so")])
        #expect(Set(drivers.rows.map(\.path)) == [tree.path("dri"), tree.path("core")])
    }

    @Test("NVIDIA's decoder is found by the names that libavcodec opens, wherever the linker looks")
    func nvidiaDecoder() throws {
        let tree = try Tree()
        try tree.write("nvidia/libcuda.so.1", library())
        try tree.write("nvidia/libnvcuvid.so.1", library([(needed, "libcuda.so.1")]))
        let drivers = tree.drivers(["LD_LIBRARY_PATH": tree.path("nvidia")])
        #expect(drivers.drivers(of: .nvdec) == ["libcuda.so.1", "libnvcuvid.so.1"])
        #expect(drivers.refused(of: .nvdec).isEmpty)
        #expect(drivers.drivers(of: .nvenc).isEmpty)
        #expect(drivers.rows.map(\.path).contains(tree.path("nvidia")))
        #expect(tree.drivers([:]).drivers(of: .nvdec).isEmpty)
    }

    @Test("This machine's C library is read, and damaged copies of a library do no harm")
    func damagedLibraries() throws {
        let search = LibrarySearch(folders: [], cache: "/etc/ld.so.cache")
        let found = try #require(search.files(named: "libc.so.6").first)
        let linker = try #require(LibraryHeader(found)).needed.first
        #expect(linker?.hasPrefix("ld-linux") == true, "\(linker ?? "none")")
        let tree = try Tree()
        let whole = library([(needed, "liba.so"), (rPath, "/a:/b"), (runPath, "/c")])
        let header = try #require(LibraryHeader(try tree.write("whole", whole)))
        #expect(header.needed == ["liba.so"] && header.rPath == ["/a", "/b"] && header.runPath == ["/c"])
        for length in stride(from: 0, to: whole.count, by: 3) {
            _ = LibraryHeader(try tree.write("cut", whole.prefix(length)))
        }
        for place in whole.indices {
            for value: UInt8 in [0, 0xff] {
                var bytes = whole
                bytes[place] = value
                _ = LibraryHeader(try tree.write("changed", bytes))
            }
        }
        #expect(LibraryHeader(tree.root) == nil && LibraryHeader("/dev/null") == nil)
    }

    @Test("The linker's list, in both formats, and damaged ones")
    func linkerCache() throws {
        let tree = try Tree()
        let entries = [
            ("libb.so.1", "/x/libb.so.1"), ("liba.so.1", "/y/hw/liba.so.1"), ("liba.so.1", "/y/liba.so.1"),
        ]
        let new = cache(entries)
        let list = LinkerCache(try tree.write("new", new))
        #expect(list["liba.so.1"] == ["/y/hw/liba.so.1", "/y/liba.so.1"] && list["libb.so.1"] == ["/x/libb.so.1"])
        #expect(list["libc.so.6"].isEmpty && list[""].isEmpty)
        let old = Array("ld.so-1.7.0".utf8) + [0] + [1, 0, 0, 0] + [UInt8](repeating: 0, count: 12) + [0, 0, 0, 0]
        #expect(LinkerCache(try tree.write("old", old + new))["libb.so.1"] == ["/x/libb.so.1"])
        for length in new.indices {
            _ = LinkerCache(try tree.write("cut", new.prefix(length)))["liba.so.1"]
        }
        for place in 20..<new.count {
            var bytes = new
            bytes[place] = 0xff
            _ = LinkerCache(try tree.write("changed", bytes))["liba.so.1"]
        }
        let own = LinkerCache("/etc/ld.so.cache")["libc.so.6"]
        #expect(own.contains { access($0, R_OK) == 0 })
    }

    /// A list of the linker in the present format.
    private func cache(_ entries: [(name: String, file: String)]) -> [UInt8] {
        func bytes(_ value: Int) -> [UInt8] {
            withUnsafeBytes(of: UInt32(value).littleEndian) { Array($0) }
        }
        #if arch(x86_64)
            let flags = 0x0303
        #else
            let flags = 0x0a03
        #endif
        var (table, strings): ([UInt8], [UInt8]) = ([], [])
        let start = 48 + 24 * entries.count
        for (name, file) in entries {
            table += bytes(flags) + bytes(start + strings.count)
            strings += Array(name.utf8) + [0]
            table += bytes(start + strings.count) + [UInt8](repeating: 0, count: 12)
            strings += Array(file.utf8) + [0]
        }
        let header = Array("glibc-ld.so.cache1.1".utf8) + bytes(entries.count) + bytes(strings.count)
        return header + [UInt8](repeating: 0, count: 48 - header.count) + table + strings
    }
}
