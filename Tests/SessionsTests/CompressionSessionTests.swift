// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDSessions

private func makeSession(_ format: PixelFormat = .nv12) throws -> CompressionSession {
    let request = try CompressionRequest(
        codec: "hevc", width: 64, height: 64, pixelFormat: format.rawValue,
        timeBase: try #require(Rational(1, 30)))
    return CompressionSession(
        request: request, properties: PropertyStore(backend: .x265), maxPoolBytes: 1 << 20)
}

private func frame(_ id: UInt64, pts: Int64, pool: UInt32 = 1) -> FrameRequest {
    FrameRequest(
        frameID: id, pts: pts, duration: 1, poolID: pool, forceKeyFrame: false, baseFrameQP: -1,
        layout: FrameLayout.packed(.nv12, width: 64, height: 64).layout)
}

@Suite struct CompressionSessionTests {
    @Test func acceptsFramesFromPrepareToComplete() throws {
        var session = try makeSession()
        try session.addPool(1, size: 65536)
        #expect(throws: SessionError.self) { try session.admit(frame(1, pts: 0)) }
        #expect(try session.prepare() != nil)
        #expect(try session.prepare() == nil)
        try session.admit(frame(1, pts: 0))
        session.complete()
        let error = #expect(throws: SessionError.self) { try session.admit(frame(2, pts: 1)) }
        #expect(error?.status == .invalidSession)
    }

    @Test func limitsFramesInFlight() throws {
        var session = try makeSession()
        try session.addPool(1, size: 65536)
        _ = try session.prepare()
        let most = UInt64(CompressionSession.maxFramesInFlight)
        for id in 0..<most { try session.admit(frame(id, pts: Int64(id))) }
        #expect(throws: SessionError.self) { try session.admit(frame(most, pts: Int64(most))) }
        session.release(0)
        try session.admit(frame(most, pts: Int64(most)))
    }

    @Test func refusesFramesOutOfOrder() throws {
        var session = try makeSession()
        try session.addPool(1, size: 65536)
        _ = try session.prepare()
        try session.admit(frame(1, pts: 5))
        #expect(throws: SessionError.self, "same id") { try session.admit(frame(1, pts: 6)) }
        #expect(throws: SessionError.self, "same pts") { try session.admit(frame(2, pts: 5)) }
        #expect(throws: SessionError.self, "earlier pts") { try session.admit(frame(2, pts: 4)) }
        #expect(throws: SessionError.self, "no such pool") { try session.admit(frame(2, pts: 7, pool: 9)) }
        var qp = frame(2, pts: 7)
        qp.baseFrameQP = 52
        #expect(throws: SessionError.self, "QP") { try session.admit(qp) }
        for pts in [Int64.max, .min, 1 << 56] {
            #expect(throws: SessionError.self, "pts near overflow") { try session.admit(frame(2, pts: pts)) }
        }
        try session.admit(frame(2, pts: 7))
    }

    @Test func limitsPoolsAndKeepsThoseInUse() throws {
        var session = try makeSession()
        try session.addPool(1, size: 1 << 19)
        #expect(throws: SessionError.self, "taken") { try session.addPool(1, size: 1) }
        #expect(throws: SessionError.self, "over the limit") { try session.addPool(2, size: (1 << 19) + 1) }
        #expect(throws: SessionError.self, "overflow") { try session.addPool(2, size: .max) }
        #expect(throws: SessionError.self, "empty") { try session.addPool(2, size: 0) }
        _ = try session.prepare()
        try session.admit(frame(1, pts: 0))
        #expect(throws: SessionError.self, "in flight") { try session.removePool(1) }
        session.release(1)
        try session.removePool(1)
        #expect(throws: SessionError.self, "gone") { try session.removePool(1) }
    }

    @Test func refusesPropertyChangesOnceTheEncoderIsOpen() throws {
        var session = try makeSession()
        try session.setProperties(["Quality": .double(0.7)])
        _ = try session.prepare()
        let error = #expect(throws: SessionError.self) { try session.setProperties(["Quality": .double(0.7)]) }
        #expect(error?.status == .propertyReadOnly)
    }

    @Test func refusesAProfileBelowTheSourceDepth() throws {
        var session = try makeSession(.p010)
        let error = #expect(throws: SessionError.self) {
            try session.setProperties(["ProfileLevel": .string("HEVC_Main_AutoLevel")])
        }
        #expect(error?.status == .parameter)
        #expect(try session.prepare()?.profile == .main10)
    }

    @Test(arguments: [
        ("avc1", 64, 64, "NV12", Status.couldNotFindVideoEncoder), ("hevc", 0, 64, "NV12", .parameter),
        ("hevc", 64, -1, "NV12", .parameter), ("hevc", 1 << 20, 64, "NV12", .parameter),
        ("hevc", 64, 64, "XR24", .parameter),
    ])
    func refusesImpossibleRequests(codec: String, width: Int, height: Int, format: String, status: Status) {
        let error = #expect(throws: SessionError.self) {
            try CompressionRequest(
                codec: codec, width: width, height: height, pixelFormat: format, timeBase: Rational(1))
        }
        #expect(error?.status == status)
    }
}
