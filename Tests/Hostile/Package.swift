// swift-tools-version:6.2
// SPDX-License-Identifier: GPL-2.0-or-later
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
]
let client = Target.Dependency.product(name: "HWClient", package: "hwdaemon")

// A package of its own: the client that attacks is linked with the static runtime, unlike the programs that it attacks.
let package = Package(
    name: "hwdaemon-hostile",
    dependencies: [.package(name: "hwdaemon", path: "../..")],
    targets: [
        .target(name: "CHostile"),
        .executableTarget(name: "hostile", dependencies: ["CHostile", client], swiftSettings: settings),
    ]
)
