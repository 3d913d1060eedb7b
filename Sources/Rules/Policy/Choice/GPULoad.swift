// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// How sessions are shared out among GPUs: pure functions of what each session does.
public enum GPULoad {
    /// A session on a GPU.
    public struct Use: Hashable, Sendable {
        /// The encoder or decoder that serves it.
        public var codecID: String
        /// Its width · height · rate, in luma samples a second.
        public var pixelRate: Double

        public init(codecID: String, pixelRate: Double) {
            self.codecID = codecID
            self.pixelRate = pixelRate
        }
    }

    /// The pixel rate of a session whose rate is not known.
    public static let assumedRate = 30.0

    /// The load of every hardware encoder and decoder of a machine, in the order in which they are listed.
    ///
    /// An encoder and a decoder of one GPU have its load together.
    /// - Parameter maxSessions: sessions that one GPU may have; nil for no limit.
    public static func loads(
        of uses: [Use], on snapshot: ProbeSnapshot, maxSessions: Int? = nil
    ) -> [HardwareLoad] {
        let gpus = gpus(snapshot)
        let gpuByCodec = Dictionary(gpus, uniquingKeysWith: { first, _ in first })
        var sums: [String: (rate: Double, count: Int)] = [:]
        for use in uses {
            guard let gpu = gpuByCodec[use.codecID] else { continue }
            sums[gpu, default: (0, 0)].rate += max(0, use.pixelRate)
            sums[gpu, default: (0, 0)].count += 1
        }
        return gpus.map { codecID, gpu in
            let sum = sums[gpu] ?? (0, 0)
            return HardwareLoad(
                codecID: codecID, pixelRate: sum.rate, sessionCount: sum.count,
                isFull: maxSessions.map { sum.count >= $0 } ?? false)
        }
    }

    /// The id on the GPU that does least, the first of several; nil if there is none.
    ///
    /// - Parameter previous: where the client's session was before, which it keeps.
    public static func leastLoaded(
        _ ids: [String], _ loads: [HardwareLoad], previous: String? = nil
    ) -> String? {
        if let previous, ids.contains(previous) { return previous }
        let rates = Dictionary(loads.map { ($0.codecID, $0.pixelRate) }, uniquingKeysWith: { first, _ in first })
        // The first of equal ones: min(by:) returns it.
        return ids.min { rates[$0] ?? 0 < rates[$1] ?? 0 }
    }

    /// The GPU of every hardware encoder and decoder, by id.
    private static func gpus(_ snapshot: ProbeSnapshot) -> [(String, String)] {
        let encoders = snapshot.encoders.filter(\.hardware).compactMap { encoder in
            (encoder.pciAddress ?? encoder.device).map { (encoder.id, $0) }
        }
        let decoders = DecoderPolicy.candidates(snapshot).compactMap { decoder in
            (decoder.pciAddress ?? decoder.device).map { (decoder.id, $0) }
        }
        return encoders + decoders
    }
}
