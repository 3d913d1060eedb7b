// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDModel
import HWDPolicy
import Testing

/// Notes a deviation with the first frame that has a quantizer of its own.
private final class NotingEncoder: Encoder {
    let formatDescription: [UInt8] = [1]
    private(set) var notes: [String] = [] { didSet { descriptionVersion += 1 } }
    private(set) var descriptionVersion = 0
    var decodeTimes = DecodeTimes(reorderDepth: 0, nominalDuration: 1)
    var continuesAfterFinish: Bool { true }

    func change(to configuration: EncoderConfiguration) throws(SessionError) -> Bool { true }

    func encode(_ picture: InputPicture, _ handler: EncodedPictureHandler) throws(SessionError) {
        if picture.baseFrameQP != nil, notes.isEmpty { notes = ["QP"] }
    }

    func finish(_ handler: EncodedPictureHandler) throws(SessionError) {}
}

@Suite struct StreamEncoderTests {
    @Test("A stream's description has another version when its encoder's notes change, and only then")
    func descriptionVersions() throws {
        let configuration = try EncoderConfiguration(request: .sample, properties: PropertyStore(backend: .vaapi))
        let encoder = try StreamEncoder(configuration) { (_) throws(SessionError) in NotingEncoder() }
        func version(after pts: Int64, qp: Int?) throws -> Int {
            let picture = InputPicture(
                planes: [], frameID: UInt64(pts), pts: pts, forceKeyFrame: false, baseFrameQP: qp)
            try encoder.encode(picture) { (_, _) throws(SessionError) in }
            return encoder.descriptionVersion
        }
        let first = encoder.descriptionVersion
        #expect(try version(after: 0, qp: nil) == first && encoder.notes == [])
        let noted = try version(after: 1, qp: 30)
        #expect(noted != first && encoder.notes == ["QP"])
        #expect(try version(after: 2, qp: 30) == noted)
    }
}
