// swift-tools-version:6.2
// SPDX-License-Identifier: MIT
import PackageDescription

// An app of the kind that links the libraries. Its targets have names that any app might use: a package graph may hold a
// target name only once, so this package does not resolve if HWDaemon takes one of them.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "sample-app",
    dependencies: [.package(name: "hwdaemon", path: "../..")],
    targets: [
        .target(name: "Model", swiftSettings: settings),
        .target(name: "Color", swiftSettings: settings),
        .target(name: "Alpha", swiftSettings: settings),
        .target(name: "Worker", dependencies: ["Alpha", "Color", "Model"], swiftSettings: settings),
        .target(name: "HEVC", swiftSettings: settings),
        .target(name: "Transport", swiftSettings: settings),
        .target(name: "Sessions", dependencies: ["HEVC", "Transport"], swiftSettings: settings),
        .target(name: "Wire", swiftSettings: settings),
        .executableTarget(
            name: "sample-app",
            dependencies: [
                "Model", "Sessions", "Transport", "Wire", "Worker", .product(name: "HWClient", package: "hwdaemon"),
            ],
            path: "Sources/SampleApp", swiftSettings: settings),
        .executableTarget(
            name: "first-frame", dependencies: [.product(name: "HWClient", package: "hwdaemon")],
            path: "Sources/FirstFrame", swiftSettings: settings),
        .executableTarget(
            name: "first-photo", dependencies: [.product(name: "HWImages", package: "hwdaemon")],
            path: "Sources/FirstPhoto", swiftSettings: settings),
        .executableTarget(
            name: "first-movie", dependencies: [.product(name: "HWMovies", package: "hwdaemon")],
            path: "Sources/FirstMovie", swiftSettings: settings),
        .executableTarget(
            name: "first-player",
            dependencies: ["HWClient", "HWMovies", "HWOutput"].map { .product(name: $0, package: "hwdaemon") },
            path: "Sources/FirstPlayer", swiftSettings: settings),
        .executableTarget(
            name: "first-recorder", dependencies: [.product(name: "HWMovies", package: "hwdaemon")],
            path: "Sources/FirstRecorder", swiftSettings: settings),
        .executableTarget(
            name: "first-recording",
            dependencies: ["HWCapture", "HWClient"].map { .product(name: $0, package: "hwdaemon") },
            path: "Sources/FirstRecording", swiftSettings: settings),
    ]
)
