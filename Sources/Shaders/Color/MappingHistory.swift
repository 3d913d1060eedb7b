// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

/// Reads the mappings of a stream's Dolby Vision RPUs, which must come in decoding order, because an RPU may refer to an
/// earlier one's.
public struct MappingHistory: Sendable {
    /// The curves of an RPU, and the depth of the samples that they map.
    private struct Curves {
        var bitDepth: Int
        var curves: [SignalMapping.Curve]
    }

    /// By `vdr_rpu_id`, 0…15.
    private var curves: [Int: Curves] = [:]
    /// By `affected_dm_metadata_id`, 0…15.
    private var colors: [Int: RPUColor] = [:]

    /// Starts without any RPU.
    public init() {}

    /// The mapping of a picture.
    ///
    /// - Parameter nal: The whole NAL unit of type 62, header included.
    /// - Throws: `PixelTransferNotSupported` for an RPU that is damaged, refers to one that was not seen, or needs an
    ///   enhancement layer.
    public mutating func mapping(rpu nal: [UInt8]) throws(SessionError) -> SignalMapping {
        let rpu: DolbyVisionRPU
        do throws(BitstreamError) { rpu = try DolbyVisionRPU(nal: nal) } catch {
            throw SignalMapping.refusal("the RPU is damaged: \(error.reason)")
        }
        guard [5, 8].contains(rpu.profile) else {
            let name = rpu.profile.map { "profile \($0)" } ?? "an unknown profile"
            let isLayered = rpu.profile == 4 || rpu.profile == 7
            throw SignalMapping.refusal(
                "the RPU is of \(name)"
                    + (isLayered ? ", whose enhancement layer is not decoded" : "; 5 and 8 are supported"))
        }
        let curves = try self.curves(of: rpu)
        let color = try self.color(of: rpu)
        return try SignalMapping(
            bitDepth: curves.bitDepth, curves: curves.curves, toRGB: color.nonlinear, light: color.light,
            peak: color.peak)
    }

    /// The peak in nits that an RPU states itself, whatever it refers to; nil for a damaged one and one without it.
    ///
    /// - Parameter nal: The whole NAL unit of type 62, header included.
    public static func peak(rpu nal: [UInt8]) -> Double? {
        (try? DolbyVisionRPU(nal: nal))?.displayManagement?.color?.peak
    }

    private mutating func curves(of rpu: DolbyVisionRPU) throws(SessionError) -> Curves {
        let mapping: RPUMapping
        switch rpu.mapping {
        case .previous(let id):
            guard let known = curves[id] else {
                throw SignalMapping.refusal("the RPU refers to mapping \(id), which no RPU before it has")
            }
            return known
        case .coded(let coded): mapping = coded
        }
        guard let info = rpu.header.sequenceInfo, let depths = info.depths else {
            throw SignalMapping.refusal("the RPU has no bit depths")
        }
        guard mapping.residual == nil else {
            throw SignalMapping.refusal("the RPU needs an enhancement layer, which is not decoded")
        }
        guard mapping.numXPartitionsMinus1 == 0, mapping.numYPartitionsMinus1 == 0 else {
            throw SignalMapping.refusal("the RPU divides pictures into partitions")
        }
        let result = Curves(
            bitDepth: depths.blBitDepthMinus8 + 8, curves: mapping.curves.map { $0.decoded(info.coefficients) })
        guard (0...15).contains(mapping.vdrRPUID) else {
            throw SignalMapping.refusal("the RPU's mapping has the impossible id \(mapping.vdrRPUID)")
        }
        curves[mapping.vdrRPUID] = result
        return result
    }

    private mutating func color(of rpu: DolbyVisionRPU) throws(SessionError) -> RPUColor {
        guard let metadata = rpu.displayManagement else {
            throw SignalMapping.refusal("the RPU has no color metadata")
        }
        guard let color = metadata.color ?? colors[metadata.affectedDMMetadataID] else {
            throw SignalMapping.refusal("the RPU's color metadata are left out, and no RPU before it has them")
        }
        // 65535 is PQ; the parameters describe other curves.
        guard color.signalEOTF == 65535 else {
            throw SignalMapping.refusal("the RPU's signal_eotf is \(color.signalEOTF), not PQ's 65535")
        }
        colors[metadata.affectedDMMetadataID] = color
        return color
    }
}

extension RPUCurve {
    /// The curve with pivots as codes and real coefficients.
    fileprivate func decoded(_ format: RPUCoefficientFormat) -> SignalMapping.Curve {
        var (codes, sum) = ([Int](), 0)
        for difference in pivots {
            sum += difference
            codes.append(sum)
        }
        return SignalMapping.Curve(
            pivots: codes,
            pieces: pieces.map { piece in
                switch piece {
                case .polynomial(let values): .polynomial(values.map(format.value))
                case .regression(let constant, let orders):
                    .regression(constant: format.value(constant), orders: orders.map { $0.map(format.value) })
                }
            })
    }
}

extension RPUCoefficientFormat {
    /// The real value of a coefficient; NaN and infinity are possible for binary32.
    fileprivate func value(_ coded: Int) -> Double {
        switch self {
        case .fixed(let bits): Double(coded) / Double(1 << bits)
        case .float: Double(Float(bitPattern: UInt32(truncatingIfNeeded: coded)))
        }
    }
}

extension RPUColor {
    /// source_max_pq in nits.
    fileprivate var peak: Double { TransferFunction.pq.decode(Double(sourceMaxPQ) / 4095) * PQ.peak }

    /// Mapped values to R'G'B' or L'M'S': the matrix is × 2^13, the offset × 2^28.
    fileprivate var nonlinear: Affine {
        let matrix = Self.matrix(yccToRGBCoef, scale: 0x1p-13)
        let offset = Triple(yccToRGBOffset.map { Double($0) * 0x1p-28 })
        return Affine(matrix, -(matrix * offset))
    }

    /// Light to BT.2020: to LMS by the RPU's matrix (× 2^14), then from LMS.
    fileprivate var light: Matrix3 { Self.fromLMS * Self.matrix(rgbToLMSCoef, scale: 0x1p-14) }

    /// LMS to BT.2020: the inverse of Hunt, Pointer and Estévez's cone responses for D65, of BT.2020's light.
    private static let fromLMS: Matrix3 = {
        let cones = Matrix3([0.40024, 0.7076, -0.08081], [-0.2263, 1.16532, 0.0457], [0, 0, 0.91822])
        return (cones * Primaries.bt2020.toXYZ).inverse
    }()

    private static func matrix(_ values: [Int], scale: Double) -> Matrix3 {
        func row(_ start: Int) -> Triple { Triple(values[start..<start + 3].map { Double($0) }) * scale }
        return Matrix3(row(0), row(3), row(6))
    }
}
