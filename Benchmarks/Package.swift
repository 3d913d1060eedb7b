// swift-tools-version:6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

let package = Package(
    name: "hwdaemon-benchmarks",
    dependencies: [.package(name: "hwdaemon", path: "..")],
    targets: [
        .executableTarget(
            name: "session-bench",
            dependencies: [
                .product(name: "HWClient", package: "hwdaemon")
            ],
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
    ]
)
