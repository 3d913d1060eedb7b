// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

// What works in part, and what does not work in software either.
extension Diagnosis {
    /// What keeps codecs in software from being used, or from being trusted.
    static func softwareProblems(_ snapshot: ProbeSnapshot) -> [Problem] {
        if let failure = snapshot.softwareFailure { return [Problem(failure.cause, failure.reason)] }
        return snapshot.paths.filter { $0.device == nil && $0.claimed && !$0.verified }.compactMap { path in
            path.reason.map {
                Problem(path.cause, "\(path.id) in software: \($0)", quirk: snapshot.quirk(of: path))
            }
        }
    }

    /// The ability when no hardware is available.
    ///
    /// - Parameter codec: the library that does it; nil where none can.
    static func inSoftware(_ snapshot: ProbeSnapshot, by codec: String?, _ reason: String) -> Ability {
        Ability(
            hardware: false, by: codec, reason: codec == nil ? snapshot.softwareFailure?.reason ?? reason : reason)
    }

    /// The file name of the library that the probe of the software lacks; nil where it lacks none.
    ///
    /// The program of decompression sessions lacks it too: what that probe links, libavcodec links.
    static func missingLibrary(_ snapshot: ProbeSnapshot) -> String? {
        snapshot.softwareFailure.flatMap { Problem.missingLibrary($0.reason) }
    }

    /// Whether the program of compression sessions starts.
    ///
    /// Like the probe programs it links libva; they also link libraries that it does not need.
    static func encoderStarts(_ snapshot: ProbeSnapshot) -> Bool {
        guard let library = missingLibrary(snapshot) else { return true }
        return !["libva.", "libva-drm.", "libdrm.", "libx265."].contains { library.hasPrefix($0) }
    }

    /// Features that a quirk disables on working hardware: a problem if a later driver fixes it, otherwise a limit.
    static func lostFeatures(_ snapshot: ProbeSnapshot) -> (problems: [Problem], limits: [Problem]) {
        var (problems, limits): ([Problem], [Problem]) = ([], [])
        for node in snapshot.nodes where node.reason == nil {
            let paths = snapshot.paths.filter { $0.device == node.node && $0.verified }
            for quirk in snapshot.quirks ?? [] where !quirk.disablesPath && !quirk.disabledFeatures.isEmpty {
                guard let path = paths.first(where: { $0.quirks.contains(quirk.id) }) else { continue }
                let lost = quirk.disabledFeatures.map(name).joined(separator: ", ")
                var problem = Problem(
                    .quirk, "\(path.driver) is without \(lost): \(quirk.why)", device: node.node, pciID: node.pciID,
                    quirk: quirk)
                problem.lost = quirk.disabledFeatures
                if quirk.fixedIn == nil {
                    (problem.remedy, problem.command) = (nil, nil)
                    limits.append(problem)
                } else {
                    problems.append(problem)
                }
            }
        }
        return (problems, limits)
    }

    /// A feature in words.
    private static func name(_ feature: CodecFeature) -> String {
        switch feature {
        case .bFrames: "B pictures"
        case .temporalLayers: "temporal levels"
        case .alphaLayer: "alpha"
        default: feature.rawValue
        }
    }
}
