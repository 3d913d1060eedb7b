// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

/// Every row of the property table that a backend supports, at both ends of its range.
@Suite struct PropertyTests {
    /// A backend and one of its rows.
    struct Case: CustomTestStringConvertible {
        var backend: Backend
        var name: String

        var testDescription: String { "\(name), \(backend.testDescription)" }
    }

    private static let backends = Backend.all.filter { [.x265, .vaapi("full"), .nvenc].contains($0) }

    static let writable = backends.flatMap { backend in
        PropertyTable.rows(of: backend.kind).filter { $0.access != .readOnly && !$0.isForAlpha }
            .map { Case(backend: backend, name: $0.key.rawValue) }
    }

    static let unwritable = backends.flatMap { backend in
        PropertyTable.compression.filter {
            !$0.supportedBy.contains(backend.kind) || $0.access == .readOnly || $0.isForAlpha
        }
        .map { Case(backend: backend, name: $0.key.rawValue) }
    }

    private func session(_ backend: Backend) throws -> CompressionAdmission {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: try #require(Rational(1, 25)))
        return try CompressionAdmission(
            request: request, properties: PropertyStore(backend: backend.kind))
    }

    /// Passes depend on each other, and have tests of their own; encoders without temporal levels are refused when they open.
    static let valued = writable.filter {
        $0.name != PropertyKey.multiPassStorage.rawValue
            && ($0.name != PropertyKey.baseLayerFrameRate.rawValue || $0.backend.hasLevels)
    }

    @Test(arguments: sampled(valued))
    func valuesOpenAnEncoderAndReadBack(at place: Case) throws {
        let row = try #require(PropertyTable.row(PropertyKey(rawValue: place.name)))
        for value in RowValues.samples(row.kind) {
            var session = try session(place.backend)
            let values = RowValues.companions(of: place.name, value).merging([place.name: value]) { $1 }
            try session.setProperties(values)
            let read = try session.properties.copy([place.name])[place.name]
            #expect(read == value)
            _ = try #require(try session.prepare())
            let result = try place.backend.run(
                EncodeJob(Clip(format: .nv12, width: 64, height: 64, frames: 2), values))
            #expect(result.failure == nil, "\(value): \(result.failure ?? "")")
            #expect(result.pictures.count == 2)
            #expect(try !result.record.nalUnits.isEmpty)
            // The session is open: only live properties can change.
            if row.access == .live {
                try session.setProperties([place.name: value])
                #expect(try session.properties.copy([place.name])[place.name] == value)
            } else {
                let error = #expect(throws: SessionError.self) { try session.setProperties([place.name: value]) }
                #expect(error?.status == .propertyReadOnly)
            }
        }
    }

    @Test(arguments: sampled(writable))
    func refusesOtherValues(at place: Case) throws {
        let row = try #require(PropertyTable.row(PropertyKey(rawValue: place.name)))
        for value in RowValues.misfits(row.kind) {
            var session = try session(place.backend)
            let error = #expect(throws: SessionError.self, "\(place.name) = \(value)") {
                try session.setProperties([place.name: value])
            }
            #expect(
                error?.status == .parameter && error?.reason.contains(place.name) == true, "\(error?.reason ?? "")")
        }
    }

    @Test(arguments: sampled(unwritable))
    func refusesOtherProperties(at place: Case) throws {
        var session = try session(place.backend)
        let error = #expect(throws: SessionError.self) { try session.setProperties([place.name: .bool(true)]) }
        #expect([.propertyReadOnly, .propertyNotSupported].contains(error?.status))
    }
}
