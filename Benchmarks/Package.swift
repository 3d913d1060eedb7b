// swift-tools-version:6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
]
let client = Target.Dependency.product(name: "HWClient", package: "hwdaemon")

let package = Package(
    name: "hwdaemon-benchmarks",
    dependencies: [.package(name: "hwdaemon", path: "..")],
    targets: [
        .executableTarget(name: "session-bench", dependencies: [client], swiftSettings: settings)
    ]
)
