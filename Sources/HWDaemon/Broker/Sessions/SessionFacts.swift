// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy

/// What is known of a session from its Create call on, for lists, limits, logs and metrics.
///
/// Texts are the client's until the worker has checked them, so they hold printable characters only.
struct SessionFacts: Hashable, Sendable {
    let kind: SessionKind
    var codec = ""
    /// Luma samples; 0 if the call does not declare a size.
    var width = 0
    var height = 0
    /// Empty if the call names none and the worker has not reported it.
    var pixelFormat = ""
    /// Whether it may convert or scale pictures, for which it may load a driver.
    var converts = false
    /// Bytes of the largest picture, as `SessionMemory` counts them; 0 until the worker reports them where Create does not.
    var pictureBytes: UInt64 = 0
    /// Frames a second, as far as Create declares them.
    var frameRate = GPULoad.assumedRate

    init(_ kind: SessionKind) { self.kind = kind }

    /// Luma samples of a picture; 0 until they are known.
    var samples: Double {
        kind.declaresSize ? Double(width) * Double(height) : SessionMemory.samples(ofPicture: pictureBytes)
    }
}

// As daemons hand it over; what earlier versions did not send is absent.
extension SessionFacts: Codable {
    private enum CodingKeys: String, CodingKey {
        case kind, codec, width, height, pixelFormat, converts, pictureBytes, frameRate
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decode(SessionKind.self, forKey: .kind)
        codec = try container.decode(String.self, forKey: .codec)
        width = try container.decode(Int.self, forKey: .width)
        height = try container.decode(Int.self, forKey: .height)
        pixelFormat = try container.decode(String.self, forKey: .pixelFormat)
        converts = try container.decodeIfPresent(Bool.self, forKey: .converts) ?? converts
        pictureBytes = try container.decode(UInt64.self, forKey: .pictureBytes)
        frameRate = try container.decodeIfPresent(Double.self, forKey: .frameRate) ?? frameRate
    }
}
