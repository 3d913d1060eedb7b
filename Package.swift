// swift-tools-version:6.2
// SPDX-License-Identifier: MIT
import Foundation
import PackageDescription

/// Settings every Swift target shares: Swift 6 mode, warnings are errors, imports say what they expose.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Pure modules (no I/O, no C library) are checked for memory safety as well.
let pure: [SwiftSetting] = common + [.strictMemorySafety()]

/// Optimizes loops over samples in debug builds, too.
///
/// SwiftPM refuses such flags in what an app depends on, so no target that a library product needs may have them.
let optimized: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]
let optimizedSwift: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

// Every target's name is one that an app cannot have by chance, because a package graph holds a name only once.
// The folders go by what is in them.

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// A package by Apple: from the folder that HWDAEMON_VENDOR names (scripts/vendor-packages), so that a build needs no network,
/// else from its repository.
func external(_ name: String, from version: Version) -> Package.Dependency {
    if let folder = Context.environment["HWDAEMON_VENDOR"] { return .package(path: "\(folder)/\(name)") }
    return .package(url: "https://github.com/apple/\(name)", from: version)
}

/// Whether `hwctl-play` gets a window: libwayland-dev is installed.
let hasWayland = FileManager.default.fileExists(atPath: "/usr/include/wayland-client.h")

/// Whether `hwctl-capture` records and `hwctl-play` sounds by PipeWire: libpipewire-0.3-dev is installed.
let hasPipeWire = FileManager.default.fileExists(atPath: "/usr/include/pipewire-0.3/pipewire/pipewire.h")

/// Whether `hwctl-capture` records screens of the desktop's portal: libsystemd-dev is installed as well, which has sd-bus.
let hasPortal = hasPipeWire && FileManager.default.fileExists(atPath: "/usr/include/systemd/sd-bus.h")

let package = Package(
    name: "hwdaemon",
    products: [
        .library(name: "HWClient", targets: ["HWClient"]),
        .library(name: "HWImages", targets: ["HWImages"]),
        .library(name: "HWMovies", targets: ["HWMovies"]),
        .library(name: "HWOutput", targets: ["HWOutput"]),
        .library(name: "HWCapture", targets: ["HWCapture"]),
        .executable(name: "hwctl", targets: ["hwctl"]),
        .executable(name: "hwctl-media", targets: ["hwctl-media"]),
        .executable(name: "hwctl-play", targets: ["hwctl-play"]),
        .executable(name: "hwctl-capture", targets: ["hwctl-capture"]),
        .executable(name: "hwdaemon", targets: ["HWDaemon"]),
        .executable(name: "hwdaemon-encoder", targets: ["hwdaemon-encoder"]),
        .executable(name: "hwdaemon-encoder-nv", targets: ["hwdaemon-encoder-nv"]),
        .executable(name: "hwdaemon-decoder", targets: ["hwdaemon-decoder"]),
        .executable(name: "hwdaemon-transfer", targets: ["hwdaemon-transfer"]),
        .executable(name: "hwdaemon-probe", targets: ["hwdaemon-probe"]),
        .executable(name: "hwdaemon-verify", targets: ["hwdaemon-verify"]),
    ],
    dependencies: [
        external("swift-argument-parser", from: "1.8.2"),
        external("swift-log", from: "1.16.2"),
    ],
    targets: [
        // Shared values and pure logic.
        .target(
            name: "HWDModel", path: "Sources/Base/Model", swiftSettings: pure, linkerSettings: [.linkedLibrary("m")]
        ),
        .target(
            name: "HWDWire", dependencies: ["HWDModel"], path: "Sources/Base/Wire",
            exclude: ["org.hwdaemon.varlink"],
            swiftSettings: pure, plugins: ["HWDEmbedText"]),
        .target(name: "HWDHEVC", path: "Sources/Bitstream/HEVC", swiftSettings: pure),
        .target(
            name: "HWDBoxes", dependencies: ["HWDHEVC", "HWDModel"], path: "Sources/Bitstream/Boxes",
            swiftSettings: pure),
        .target(
            name: "HWDHEIF", dependencies: ["HWDBoxes", "HWDHEVC", "HWDModel"], path: "Sources/Bitstream/HEIF",
            swiftSettings: pure),
        .target(
            name: "HWDColor", dependencies: ["HWDHEVC", "HWDModel"], path: "Sources/Shaders/Color",
            swiftSettings: pure + optimizedSwift,
            linkerSettings: [.linkedLibrary("m")]),
        .target(
            name: "HWDExport", dependencies: ["HWDModel"], path: "Sources/Client/Export",
            swiftSettings: pure,
            linkerSettings: [.linkedLibrary("m")], plugins: ["HWDEmbedText"]),
        .target(
            name: "HWDPolicy", dependencies: ["HWDModel"], path: "Sources/Rules/Policy",
            swiftSettings: pure, plugins: ["HWDEmbedText"]),
        .target(
            name: "HWDCoding", dependencies: ["HWDHEVC", "HWDModel", "HWDPolicy"], path: "Sources/Rules/Coding",
            swiftSettings: pure),

        // The system and the C libraries.
        .target(name: "CHWDLinux", path: "Sources/Base/CLinux"),
        .target(name: "CHWDCopies", path: "Sources/Client/HWClient/Replay/CCopies"),
        .target(
            name: "HWDSystem", dependencies: ["CHWDLinux"], path: "Sources/Base/System", swiftSettings: common),
        // Replaces functions of the C library; only programs that code with libx265 may have it.
        .target(
            name: "CHWDMemoryFiles", path: "Sources/Codecs/CMemoryFiles", cSettings: optimized,
            linkerSettings: [.linkedLibrary("dl")]),
        .target(
            name: "CHWDLookAhead", path: "Sources/Codecs/X265/Deep/CLookAhead", cSettings: optimized,
            linkerSettings: [.linkedLibrary("m")]),
        .systemLibrary(
            name: "CHWDX265", path: "Sources/Codecs/CX265", pkgConfig: "x265", providers: [.apt(["libx265-dev"])]),
        .systemLibrary(
            name: "CHWDLibAV", path: "Sources/Codecs/CLibAV", pkgConfig: "libavcodec libavutil",
            providers: [
                .apt([
                    "libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev",
                ])
            ]),
        .systemLibrary(
            name: "CHWDVA", path: "Sources/VAAPI/CVA", pkgConfig: "libva-drm libva",
            providers: [.apt(["libva-dev"])]),
        .systemLibrary(
            name: "CHWDDRM", path: "Sources/Base/CDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        // No pkg-config: libvulkan is opened at run time, so that a program starts where there is none.
        .systemLibrary(name: "CHWDVulkan", path: "Sources/Shaders/CVulkan", providers: [.apt(["libvulkan-dev"])]),
        .target(name: "CHWDPixels", path: "Sources/Shaders/CPixels", cSettings: optimized),
        // The C library, so that the tests drive it; Clients/c/Makefile builds it for apps.
        .target(
            name: "CHWDaemon", path: "Clients/c",
            exclude: [
                "Makefile", "README.md", "examples", "hwdaemon.pc.in", "libhwdaemon.map", "libhwdaemon0.symbols",
                "tests",
            ],
            sources: ["src"], cSettings: [.headerSearchPath("src")]),
        .target(
            name: "HWDConversion", dependencies: ["CHWDPixels", "CHWDVulkan", "HWDColor", "HWDModel", "HWDSystem"],
            path: "Sources/Shaders/Conversion", exclude: ["Vulkan/GLSL"], swiftSettings: common,
            plugins: ["HWDCompileShaders"]),
        .target(
            name: "HWDTransport", dependencies: ["HWDModel", "HWDSystem", "HWDWire", "CHWDLinux"],
            path: "Sources/Base/Transport",
            swiftSettings: common),
        .target(
            name: "HWDX265",
            dependencies: [
                "HWDCoding", "HWDHEVC", "HWDModel", "HWDPolicy", "CHWDLookAhead", "CHWDMemoryFiles", "CHWDX265",
            ],
            path: "Sources/Codecs/X265", exclude: ["Deep/CLookAhead"], swiftSettings: common),
        .target(
            name: "HWDAlpha", dependencies: ["HWDCoding", "HWDHEVC", "HWDModel"], path: "Sources/Codecs/Alpha",
            swiftSettings: common),
        .target(
            name: "HWDVAAPI",
            dependencies: ["HWDCoding", "HWDHEVC", "HWDModel", "HWDPolicy", "CHWDPixels", "CHWDVA"],
            path: "Sources/VAAPI", exclude: ["CVA"], swiftSettings: common),
        .target(
            name: "HWDProbing",
            dependencies: [
                "CHWDDRM", "HWDCoding", "HWDModel", "HWDPolicy", "HWDConversion", "HWDSystem", "HWDTransport",
                "HWDVAAPI", "HWDWire", "HWDX265",
            ],
            path: "Sources/HWDaemon/Probing", exclude: ["trial-pictures.json"],
            swiftSettings: common + optimizedSwift,
            plugins: ["HWDEmbedText"]),
        .target(
            name: "HWDLibAV", dependencies: ["HWDCoding", "HWDHEVC", "HWDModel", "HWDSystem", "CHWDLibAV"],
            path: "Sources/Codecs/LibAV", swiftSettings: common + optimizedSwift),
        .target(
            name: "HWDNVCodec",
            dependencies: [
                "CHWDLibAV", "CHWDPixels", "HWDCoding", "HWDHEVC", "HWDLibAV", "HWDModel", "HWDPolicy",
            ],
            path: "Sources/Codecs/NVCodec", swiftSettings: common),
        // What apps link.
        .target(
            name: "HWClient",
            dependencies: ["CHWDCopies", "HWDExport", "HWDModel", "HWDSystem", "HWDTransport", "HWDWire"],
            path: "Sources/Client/HWClient", exclude: ["Replay/CCopies"], swiftSettings: common),
        .target(
            name: "HWImages",
            dependencies: [
                "HWClient", "HWDBoxes", "HWDHEIF", "HWDHEVC", "HWDModel", "HWDSystem", "HWDTransport", "HWDWire",
            ],
            path: "Sources/Client/Images", swiftSettings: common),
        .target(
            name: "HWMovies", dependencies: ["HWDBoxes", "HWDHEVC", "HWDModel", "HWDSystem"],
            path: "Sources/Client/HWMovies", swiftSettings: common),
        .target(
            name: "HWOutput",
            dependencies: ["HWClient", "HWDHEVC", "HWDModel", "HWDTransport", "HWDWire", "HWMovies"],
            path: "Sources/Client/HWOutput", swiftSettings: common),
        .target(
            name: "HWCapture",
            dependencies: [
                "HWClient", "HWDBoxes", "HWDExport", "HWDHEVC", "HWDModel", "HWDSystem", "HWDTransport", "HWDWire",
                "HWMovies",
            ],
            path: "Sources/Client/HWCapture", swiftSettings: common),

        // Media files.
        .target(
            name: "HWDMetadata", dependencies: ["HWDBoxes", "HWDHEVC", "HWDModel", "HWDSystem"],
            path: "Sources/Media/Metadata", swiftSettings: pure, linkerSettings: [.linkedLibrary("m")]),
        .target(
            name: "HWDEdits", dependencies: ["HWDMetadata", "HWDModel"], path: "Sources/Media/Edits",
            swiftSettings: pure),
        .target(
            name: "HWDLibAVReading",
            dependencies: [
                "CHWDLibAV", "HWDBoxes", "HWDEdits", "HWDHEIF", "HWDHEVC", "HWDLibAV", "HWDMetadata", "HWDModel",
                "HWDSystem", "HWDTransport", "HWImages",
            ],
            path: "Sources/Media/LibAVReading", swiftSettings: common,
            // Here and not with the headers: loading these and their dependencies takes a decoder's process 12 ms.
            linkerSettings: [
                .linkedLibrary("avformat"), .linkedLibrary("swscale"), .linkedLibrary("swresample"),
            ]),
        .target(
            name: "HWDLibAVWriting",
            dependencies: [
                "CHWDLibAV", "HWDBoxes", "HWDEdits", "HWDHEIF", "HWDHEVC", "HWDLibAV", "HWDLibAVReading",
                "HWDMetadata", "HWDModel", "HWDSystem", "HWImages",
            ],
            path: "Sources/Media/LibAVWriting", swiftSettings: common),
        // Without the writers, so that a comparison changes no file.
        .target(
            name: "HWDComparison",
            dependencies: [
                "CHWDPixels", "HWDBoxes", "HWDEdits", "HWDHEVC", "HWDLibAVReading", "HWDMetadata", "HWDModel",
            ],
            path: "Sources/Media/Comparison", swiftSettings: common),

        .target(
            name: "HWDDisplays", dependencies: ["CHWDDRM", "HWDSystem"], path: "Sources/Client/Displays",
            swiftSettings: common),

        // Processes.
        .target(
            name: "HWDWorker", dependencies: ["HWDModel", "HWDPolicy", "HWDTransport", "HWDWire"],
            path: "Sources/HWDaemon/Worker", swiftSettings: common),
        .executableTarget(
            name: "HWDaemon",
            dependencies: [
                "HWDModel", "HWDPolicy", "HWDSystem", "HWDTransport", "HWDWire", argumentParser, logging,
            ],
            path: "Sources/HWDaemon/Broker", swiftSettings: common),
        .target(
            name: "HWDEncoderWorker",
            dependencies: [
                "HWDAlpha", "HWDCoding", "HWDColor", "HWDModel", "HWDPolicy", "HWDConversion", "HWDTransport",
                "HWDVAAPI", "HWDWire", "HWDWorker", "HWDX265",
            ],
            path: "Sources/HWDaemon/Encoder", swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-encoder", dependencies: ["HWDEncoderWorker"], path: "Sources/HWDaemon/EncoderProgram",
            swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-encoder-nv",
            dependencies: ["HWDCoding", "HWDEncoderWorker", "HWDModel", "HWDNVCodec", "HWDWire"],
            path: "Sources/HWDaemon/EncoderNVProgram", swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-decoder",
            dependencies: [
                "HWDCoding", "HWDColor", "HWDHEVC", "HWDLibAV", "HWDModel", "HWDPolicy", "HWDConversion",
                "HWDTransport", "HWDWire", "HWDWorker",
            ],
            path: "Sources/HWDaemon/Decoder", swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-transfer",
            dependencies: [
                "HWDColor", "HWDModel", "HWDPolicy", "HWDConversion", "HWDTransport", "HWDWire", "HWDWorker",
            ],
            path: "Sources/HWDaemon/Transfer", swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-probe", dependencies: ["HWDProbing"], path: "Sources/HWDaemon/ProbeProgram",
            swiftSettings: common),
        .executableTarget(
            name: "hwdaemon-verify",
            dependencies: [
                "HWDCoding", "HWDLibAV", "HWDModel", "HWDNVCodec", "HWDPolicy", "HWDProbing", "HWDTransport",
                "HWDWire",
            ],
            path: "Sources/HWDaemon/Verify", swiftSettings: common + optimizedSwift),
        .target(
            name: "HWDControlCommands",
            dependencies: ["HWClient", "HWDModel", "HWDSystem", "HWDWire", "HWMovies", argumentParser],
            path: "Sources/Client/ControlCommands", swiftSettings: common),
        .executableTarget(
            name: "hwctl",
            dependencies: ["HWClient", "HWDControlCommands", "HWDModel", "HWDSystem", argumentParser],
            path: "Sources/Client/hwctl", swiftSettings: common),
        .executableTarget(
            name: "hwctl-media",
            dependencies: [
                "HWClient", "HWDBoxes", "HWDCoding", "HWDColor", "HWDComparison", "HWDControlCommands",
                "HWDDisplays", "HWDEdits", "HWDExport", "HWDHEIF", "HWDLibAV", "HWDLibAVReading", "HWDLibAVWriting",
                "HWDMetadata", "HWDModel", "HWDPolicy", "HWDSystem", "HWDTransport", "HWDWire", "HWImages",
                argumentParser,
            ],
            path: "Sources/Media/Commands", swiftSettings: common),

        // Live frames.
        .target(
            name: "HWDPlaying",
            dependencies: [
                "HWClient", "HWDColor", "HWDControlCommands", "HWDModel", "HWDSystem", "HWDWire", "HWMovies",
                "HWOutput",
            ],
            path: "Sources/Live/Playing", swiftSettings: common),
        .executableTarget(
            name: "hwctl-play",
            dependencies: ["HWClient", "HWDControlCommands", "HWDModel", "HWDPlaying", argumentParser]
                + (hasWayland ? ["HWDWindow"] : []) + (hasPipeWire ? ["HWDSound"] : []),
            path: "Sources/Live/Program",
            swiftSettings: common + (hasWayland ? [.define("WINDOW")] : [])
                + (hasPipeWire ? [.define("SOUND")] : [])),
        .target(
            name: "HWDCapturing",
            dependencies: [
                "HWCapture", "HWClient", "HWDBoxes", "HWDCaptureSound", "HWDControlCommands", "HWDEdits", "HWDHEIF",
                "HWDHEVC", "HWDLibAVWriting", "HWDMetadata", "HWDModel", "HWDSystem", "HWDTransport", "HWImages",
                "HWMovies",
            ],
            path: "Sources/Live/Capturing", swiftSettings: common),
        .target(name: "CHWDRawPictures", path: "Sources/Live/CRawPictures", cSettings: optimized),
        .target(name: "CHWDV4L2", path: "Sources/Live/CV4L2"),
        // Cameras.
        .target(
            name: "HWDVideoSources",
            dependencies: [
                "CHWDLibAV", "CHWDLinux", "CHWDRawPictures", "CHWDV4L2", "HWDCapturing", "HWDControlCommands",
                "HWDLibAV", "HWDModel", "HWDTransport",
            ],
            path: "Sources/Live/VideoSources", swiftSettings: common),
        .executableTarget(
            name: "hwctl-capture",
            dependencies: [
                "HWDCapturing", "HWDControlCommands", "HWDVideoSources", argumentParser,
            ] + (hasPipeWire ? ["HWDPipeWireVideo", "HWDSoundInput"] : []) + (hasPortal ? ["HWDPortal"] : []),
            path: "Sources/Live/CaptureProgram",
            swiftSettings: common + (hasPipeWire ? [.define("PIPEWIRE")] : [])
                + (hasPortal ? [.define("PORTAL")] : [])),

        .target(
            name: "HWDCaptureSound",
            dependencies: [
                "CHWDLibAV", "HWDBoxes", "HWDEdits", "HWDLibAV", "HWDLibAVWriting", "HWDMetadata",
                "HWMovies",
            ],
            path: "Sources/Live/CaptureSound", swiftSettings: common + optimizedSwift),

        .plugin(name: "HWDEmbedText", capability: .buildTool(), path: "Plugins/EmbedText"),
        .plugin(name: "HWDCompileShaders", capability: .buildTool(), path: "Plugins/CompileShaders"),

        .testTarget(name: "ModelTests", dependencies: ["HWDModel"], swiftSettings: common),
        .testTarget(name: "WireTests", dependencies: ["HWDHEVC", "HWDModel", "HWDWire"], swiftSettings: common),
        .testTarget(name: "ExportTests", dependencies: ["HWDExport", "HWDModel"], swiftSettings: common),
        .testTarget(name: "ColorTests", dependencies: ["HWDColor", "HWDHEVC", "HWDModel"], swiftSettings: common),
        .testTarget(
            name: "ConversionTests",
            dependencies: ["CHWDPixels", "CHWDVulkan", "HWDColor", "HWDConversion", "HWDModel"],
            swiftSettings: common + optimizedSwift),
        .testTarget(
            name: "TransportTests",
            dependencies: ["CHWDLinux", "HWDModel", "HWDSystem", "HWDTransport", "HWDWire"],
            swiftSettings: common),
        .testTarget(name: "HEVCTests", dependencies: ["CHWDX265", "HWDHEVC", "HWDModel"], swiftSettings: common),
        .testTarget(
            name: "HEIFTests", dependencies: ["HWDBoxes", "HWDHEIF", "HWDHEVC", "HWDModel"], swiftSettings: common),
        .testTarget(
            name: "MoviesTests", dependencies: ["CHWDX265", "HWDBoxes", "HWMovies"], swiftSettings: common),
        .testTarget(
            name: "OutputTests",
            dependencies: [
                "HWCapture", "HWClient", "HWMovies", "HWOutput", "HWDModel", "HWDSystem", "HWDTransport", "HWDWire",
            ],
            swiftSettings: common),
        .testTarget(name: "PolicyTests", dependencies: ["HWDModel", "HWDPolicy"], swiftSettings: common),
        .testTarget(
            name: "CodingTests", dependencies: ["HWDCoding", "HWDHEVC", "HWDModel", "HWDPolicy"],
            swiftSettings: common),
        // What the tests of every encoder share, and the process that one of them encodes in.
        .target(
            name: "HWDEncoderTesting", dependencies: ["HWDCoding", "HWDHEVC", "HWDModel", "HWDPolicy"],
            path: "Tests/EncoderTesting", swiftSettings: common + optimizedSwift),
        .executableTarget(
            name: "hwd-vaapi-tool",
            dependencies: [
                "HWDCoding", "HWDEncoderTesting", "HWDLibAV", "HWDModel", "HWDNVCodec", "HWDPolicy", "HWDTransport",
                "HWDVAAPI", "HWDWire",
            ],
            path: "Tests/VAAPITool", swiftSettings: common),
        .testTarget(
            name: "X265Tests",
            dependencies: [
                "HWDAlpha", "HWDCoding", "HWDEncoderTesting", "HWDHEVC", "HWDModel", "HWDPolicy", "HWDX265",
            ],
            swiftSettings: common),
        .testTarget(
            name: "VAAPITests",
            dependencies: ["CHWDPixels", "CHWDVA", "HWDCoding", "HWDHEVC", "HWDModel", "HWDPolicy", "HWDVAAPI"],
            swiftSettings: common),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "HWDCoding", "HWDEncoderTesting", "HWDHEVC", "HWDModel", "HWDPolicy", "HWDSystem", "HWDX265",
                "hwd-vaapi-tool",
            ],
            swiftSettings: common),
        .testTarget(
            name: "MetadataTests", dependencies: ["HWDBoxes", "HWDHEVC", "HWDMetadata", "HWDModel"],
            swiftSettings: common),
        .testTarget(
            name: "EditsTests", dependencies: ["HWDEdits", "HWDMetadata", "HWDModel"], swiftSettings: common),
        .testTarget(
            name: "LibAVFilesTests",
            dependencies: [
                "CHWDX265", "HWDBoxes", "HWDEdits", "HWDHEVC", "HWDLibAV", "HWDLibAVReading", "HWDLibAVWriting",
                "HWDMetadata", "HWDModel",
            ],
            swiftSettings: common),
        .testTarget(
            name: "ComparisonTests",
            dependencies: [
                "CHWDPixels", "HWDComparison", "HWDEdits", "HWDLibAVReading", "HWDMetadata", "HWDModel",
            ],
            swiftSettings: common),
        .testTarget(
            name: "LibAVTests",
            dependencies: ["HWDCoding", "HWDHEVC", "HWDLibAV", "HWDLibAVReading", "HWDMetadata", "HWDModel"],
            swiftSettings: common),
        .testTarget(
            name: "HWDaemonTests",
            dependencies: [
                "HWDModel", "HWDPolicy", "HWDSystem", "HWDTransport", "HWDWire", "HWDWorker", "HWDaemon", logging,
            ],
            swiftSettings: common),
        .testTarget(
            name: "ProbingTests", dependencies: ["CHWDDRM", "HWDLibAV", "HWDModel", "HWDPolicy", "HWDProbing"],
            swiftSettings: common),
        .testTarget(
            name: "ControlCommandsTests", dependencies: ["HWDControlCommands", "HWDModel", "HWDWire"],
            swiftSettings: common),
        .testTarget(
            name: "MediaCommandsTests",
            dependencies: [
                "HWDComparison", "HWDControlCommands", "HWDEdits", "HWDEncoderTesting", "HWDLibAVReading",
                "HWDLibAVWriting", "HWDMetadata", "HWDModel", "HWDSystem", "HWDTransport", "hwctl-media",
                argumentParser,
            ],
            swiftSettings: common),
        .testTarget(
            name: "PlayTests",
            dependencies: ["HWDControlCommands", "HWDModel", "HWDPlaying", "HWDSystem", "HWOutput"],
            swiftSettings: common),
        .testTarget(
            name: "CaptureSoundTests", dependencies: ["HWDCaptureSound", "HWDEdits", "HWMovies"],
            swiftSettings: common + optimizedSwift),
        .testTarget(
            name: "CaptureTests",
            dependencies: [
                "HWCapture", "HWClient", "HWDBoxes", "HWDCapturing", "HWDControlCommands", "HWDHEIF", "HWDModel",
                "HWDTransport", "HWDWire", "HWImages", "HWMovies", argumentParser,
            ],
            swiftSettings: common),
        // Replaces functions of the C library.
        .target(name: "CHWDFakeCamera", path: "Tests/FakeCamera", linkerSettings: [.linkedLibrary("dl")]),
        // A process of its own for a source's frames: that of a camera has the stand-in for a driver in it.
        .executableTarget(
            name: "hwd-source-tool",
            dependencies: [
                "CHWDFakeCamera", "HWDCapturing", "HWDControlCommands", "HWDModel", "HWDVideoSources",
            ] + (hasPipeWire ? ["HWDPipeWireVideo"] : []),
            path: "Tests/SourceTool", swiftSettings: common + (hasPipeWire ? [.define("PIPEWIRE")] : [])),
        .testTarget(
            name: "CaptureSourceTests",
            dependencies: [
                "CHWDRawPictures", "HWDCapturing", "HWDModel", "HWDVideoSources", "hwd-source-tool",
            ],
            swiftSettings: common),
        .testTarget(name: "DisplaysTests", dependencies: ["HWDDisplays"], swiftSettings: common),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CHWDLinux", "CHWDX265", "CHWDaemon", "HWClient", "HWDBoxes", "HWDColor", "HWDComparison",
                "HWDEncoderTesting", "HWDHEVC", "HWDLibAVReading", "HWDLibAVWriting", "HWDMetadata", "HWDModel",
                "HWDSystem", "HWDTransport", "HWDWire", "HWImages", "hwctl-media", argumentParser,
            ],
            swiftSettings: common),
    ]
)

if hasWayland {
    package.targets += [
        .target(
            name: "CHWDWindow", path: "Sources/Live/CWindow", linkerSettings: [.linkedLibrary("wayland-client")]),
        .target(
            name: "HWDWindow",
            dependencies: [
                "CHWDWindow", "HWClient", "HWDControlCommands", "HWDModel", "HWDPlaying", "HWDTransport",
                "HWOutput",
            ],
            path: "Sources/Live/Window", swiftSettings: common),
    ]
}

if hasPipeWire {
    package.targets += [
        .systemLibrary(
            name: "CHWDPipeWireLibrary", path: "Sources/Live/PipeWireLibrary", pkgConfig: "libpipewire-0.3",
            providers: [.apt(["libpipewire-0.3-dev"])]),
        .target(
            name: "CHWDPipeWire", dependencies: ["CHWDPipeWireLibrary"], path: "Sources/Live/CPipeWire",
            linkerSettings: [.linkedLibrary("pipewire-0.3")]),
        .target(
            name: "HWDSound",
            dependencies: [
                "CHWDLibAV", "CHWDPipeWire", "HWDBoxes", "HWDControlCommands", "HWDLibAV", "HWDModel", "HWDPlaying",
                "HWDSystem", "HWDTransport", "HWMovies",
            ],
            path: "Sources/Live/Sound", swiftSettings: common),
        .testTarget(
            name: "SoundTests", dependencies: ["HWDSound", "HWMovies"], path: "Tests/SoundTests",
            swiftSettings: common),
        .target(
            name: "HWDPipeWireVideo",
            dependencies: [
                "CHWDPipeWire", "CHWDRawPictures", "HWDCapturing", "HWDControlCommands", "HWDModel", "HWDTransport",
                "HWDVideoSources",
            ],
            path: "Sources/Live/PipeWireVideo", swiftSettings: common),
        .executableTarget(
            name: "hwd-pipewire-camera", dependencies: ["CHWDPipeWireLibrary"], path: "Tests/PipeWireCamera",
            linkerSettings: [.linkedLibrary("pipewire-0.3")]),
        .target(
            name: "HWDSoundInput",
            dependencies: [
                "CHWDPipeWire", "HWDCapturing", "HWDControlCommands", "HWDModel", "HWDSystem", "HWDTransport",
            ],
            path: "Sources/Live/SoundInput", swiftSettings: common),
        // For scripts/check-capture-sound.
        .target(
            name: "CHWDClickSource", dependencies: ["CHWDPipeWireLibrary"], path: "Tests/ClickSource",
            linkerSettings: [.linkedLibrary("pipewire-0.3"), .linkedLibrary("m")]),
        .executableTarget(
            name: "hwd-sound-tool",
            dependencies: [
                "CHWDClickSource", "HWDCaptureSound", "HWDCapturing", "HWDControlCommands", "HWDSoundInput",
                "HWMovies",
            ],
            path: "Tests/SoundTool", swiftSettings: common),
    ]
}

if hasPortal {
    package.targets += [
        .systemLibrary(
            name: "CHWDSystemd", path: "Sources/Live/SystemdLibrary", pkgConfig: "libsystemd",
            providers: [.apt(["libsystemd-dev"])]),
        .target(
            name: "HWDPortal",
            dependencies: [
                "CHWDSystemd", "HWDCapturing", "HWDControlCommands", "HWDModel", "HWDPipeWireVideo", "HWDSystem",
                "HWDTransport",
            ],
            path: "Sources/Live/Portal", swiftSettings: common),
        .testTarget(
            name: "PortalTests", dependencies: ["HWDControlCommands", "HWDPortal", argumentParser],
            swiftSettings: common),
    ]
}

// The test targets that scripts/quick needs; no other is compiled and linked.
if let names = Context.environment["HWDAEMON_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
