// swift-tools-version:6.2
// SPDX-License-Identifier: MIT
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

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "hwdaemon",
    products: [
        .library(name: "HWClient", targets: ["HWClient"]),
        .executable(name: "hwctl", targets: ["hwctl"]),
        .executable(name: "hwctl-media", targets: ["MediaCommands"]),
        .executable(name: "hwdaemon", targets: ["HWDaemon"]),
        .executable(name: "hwdaemon-encoder", targets: ["EncoderWorker"]),
        .executable(name: "hwdaemon-decoder", targets: ["DecoderWorker"]),
        .executable(name: "hwdaemon-transfer", targets: ["TransferWorker"]),
        .executable(name: "hwdaemon-probe", targets: ["ProbeWorker"]),
        .executable(name: "hwdaemon-verify", targets: ["VerifyWorker"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        // Words and pure logic.
        .target(name: "Model", swiftSettings: pure, linkerSettings: [.linkedLibrary("m")]),
        .target(
            name: "Wire", dependencies: ["Model"], exclude: ["org.hwdaemon.varlink"], swiftSettings: pure,
            plugins: ["EmbedText"]),
        .target(name: "HEVC", swiftSettings: pure),
        .target(name: "Color", dependencies: ["Model"], swiftSettings: pure, linkerSettings: [.linkedLibrary("m")]),
        .target(
            name: "Sessions", dependencies: ["HEVC", "Model"], swiftSettings: pure, plugins: ["EmbedText"]),

        // The system and the C libraries.
        .target(name: "CLinux"),
        .systemLibrary(name: "CX265", pkgConfig: "x265", providers: [.apt(["libx265-dev"])]),
        .systemLibrary(
            name: "CLibAV", pkgConfig: "libavformat libavcodec libswscale libavutil",
            providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswscale-dev", "libavutil-dev"])]),
        .systemLibrary(name: "CVA", pkgConfig: "libva-drm libva", providers: [.apt(["libva-dev"])]),
        // No pkg-config: libvulkan is opened at run time, so that a program starts where there is none.
        .systemLibrary(name: "CVulkan", providers: [.apt(["libvulkan-dev"])]),
        .target(name: "CPixels"),
        .target(
            name: "Shaders", dependencies: ["Color", "Model", "CVulkan", "CPixels"], exclude: ["Vulkan/GLSL"],
            swiftSettings: common, plugins: ["CompileShaders"]),
        .target(name: "Transport", dependencies: ["Wire", "CLinux"], swiftSettings: common),
        .target(name: "X265", dependencies: ["Sessions", "HEVC", "CX265"], swiftSettings: common),
        .target(name: "Alpha", dependencies: ["HEVC", "Model", "Sessions"], swiftSettings: common),
        .target(name: "VAAPI", dependencies: ["Sessions", "HEVC", "CPixels", "CVA"], swiftSettings: common),
        .target(
            name: "Probing", dependencies: ["Sessions", "Shaders", "Transport", "VAAPI", "Wire", "X265"],
            swiftSettings: common),
        .target(name: "LibAV", dependencies: ["Sessions", "HEVC", "Model", "CLibAV"], swiftSettings: common),
        .target(name: "MediaFile", dependencies: ["HEVC", "LibAV", "Model", "CLibAV"], swiftSettings: common),

        // Processes.
        .target(name: "Worker", dependencies: ["Transport", "Wire", "Model"], swiftSettings: common),
        .executableTarget(
            name: "HWDaemon", dependencies: ["Sessions", "Transport", "Wire", argumentParser, logging],
            swiftSettings: common),
        .executableTarget(
            name: "EncoderWorker",
            dependencies: [
                "Alpha", "Color", "Sessions", "Shaders", "Transport", "VAAPI", "Wire", "Worker", "X265",
            ],
            swiftSettings: common),
        .executableTarget(
            name: "DecoderWorker",
            dependencies: ["Color", "LibAV", "Sessions", "Shaders", "Transport", "Wire", "Worker"],
            swiftSettings: common),
        .executableTarget(
            name: "TransferWorker",
            dependencies: ["Color", "Model", "Sessions", "Shaders", "Transport", "Wire", "Worker"],
            swiftSettings: common),
        .executableTarget(name: "ProbeWorker", dependencies: ["Probing"], swiftSettings: common),
        .executableTarget(
            name: "VerifyWorker", dependencies: ["HEVC", "LibAV", "Model", "Probing", "Sessions"],
            swiftSettings: common),
        .target(name: "HWClient", dependencies: ["Transport", "Wire", "Model"], swiftSettings: common),
        .target(
            name: "ControlCommands", dependencies: ["HWClient", "Model", "Wire", argumentParser],
            swiftSettings: common),
        .executableTarget(
            name: "hwctl", dependencies: ["ControlCommands", "Model", argumentParser], swiftSettings: common),
        .executableTarget(
            name: "MediaCommands",
            dependencies: [
                "ControlCommands", "HWClient", "LibAV", "MediaFile", "Sessions", "Transport", "Wire",
                argumentParser,
            ],
            swiftSettings: common),

        .plugin(name: "EmbedText", capability: .buildTool()),
        .plugin(name: "CompileShaders", capability: .buildTool()),

        .testTarget(name: "ModelTests", dependencies: ["Model"], swiftSettings: common),
        .testTarget(name: "WireTests", dependencies: ["Wire"], swiftSettings: common),
        .testTarget(name: "ColorTests", dependencies: ["Color", "Model"], swiftSettings: common),
        .testTarget(
            name: "ShadersTests", dependencies: ["CPixels", "Color", "Model", "Shaders"], swiftSettings: common),
        .testTarget(name: "TransportTests", dependencies: ["Transport"], swiftSettings: common),
        .testTarget(name: "HEVCTests", dependencies: ["HEVC"], swiftSettings: common),
        .testTarget(name: "SessionsTests", dependencies: ["Sessions"], swiftSettings: common),
        // What the tests of every encoder share, and the process that one of them encodes in.
        .target(
            name: "EncoderTesting", dependencies: ["HEVC", "Model", "Sessions"], path: "Tests/EncoderTesting",
            swiftSettings: common),
        .executableTarget(
            name: "vaapi-tool", dependencies: ["EncoderTesting", "Sessions", "VAAPI"], path: "Tests/VAAPITool",
            swiftSettings: common),
        .testTarget(
            name: "X265Tests", dependencies: ["Alpha", "EncoderTesting", "X265", "HEVC", "Sessions"],
            swiftSettings: common),
        .testTarget(
            name: "VAAPITests", dependencies: ["CPixels", "CVA", "EncoderTesting", "HEVC", "Sessions", "VAAPI"],
            swiftSettings: common),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["EncoderTesting", "HEVC", "Sessions", "Transport", "VAAPI", "X265", "vaapi-tool"],
            swiftSettings: common),
        .testTarget(name: "MediaFileTests", dependencies: ["LibAV", "MediaFile"], swiftSettings: common),
        .testTarget(
            name: "LibAVTests", dependencies: ["LibAV", "HEVC", "MediaFile", "Model", "Sessions"],
            swiftSettings: common),
        .testTarget(name: "HWDaemonTests", dependencies: ["HWDaemon"], swiftSettings: common),
        .testTarget(name: "ProbingTests", dependencies: ["Probing", "LibAV"], swiftSettings: common),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["CLinux", "Color", "HEVC", "HWClient", "MediaFile", "Model", "Transport", "Wire"],
            swiftSettings: common),
    ]
)
