// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@testable import HWDCoding

private func makeSession(_ format: PixelFormat = .nv12) throws -> CompressionAdmission {
    let request = try CompressionRequest(
        codec: "hevc", width: 64, height: 64, pixelFormat: format.rawValue,
        timeBase: try #require(Rational(1, 30)))
    return try CompressionAdmission(
        request: request, properties: PropertyStore(backend: .x265))
}

/// Pool 1 with 64 KiB.
private func makePools() throws -> PoolLedger<Void> {
    var pools = PoolLedger<Void>(maxBytes: 1 << 20)
    try pools.add(1, (), size: 65536, isWritable: false)
    return pools
}

private func frame(_ id: UInt64, pts: Int64, pool: UInt32 = 1) -> EncodeFrame {
    EncodeFrame(
        frameID: id, pts: pts, duration: 1, poolID: pool,
        layout: FrameLayout.packed(.nv12, width: 64, height: 64).layout)
}

@Suite struct CompressionAdmissionTests {
    @Test("Frames of another size have that size, and are converted to the coded one")
    func scaledFrames() throws {
        let request = try CompressionRequest(
            codec: "hevc", width: 32, height: 16, pixelFormat: "NV12", timeBase: try #require(Rational(1, 30)),
            source: PictureSize(width: 64, height: 64))
        var session = try CompressionAdmission(request: request, properties: PropertyStore(backend: .x265))
        let configuration = try #require(try session.prepare())
        #expect(configuration.conversion?.format == .nv12 && configuration.request.pixelFormat == .nv12)
        #expect(try makeSession().configuration.conversion == nil)
        try session.admit(frame(1, pts: 0), in: try makePools())
        var small = frame(2, pts: 1)
        small.layout = FrameLayout(planes: [.init(offset: 0, stride: 32), .init(offset: 512, stride: 32)])
        #expect(throws: SessionError.self) { try session.admit(small, in: try makePools()) }
    }

    @Test(
        "Impossible sizes of frames are refused, and scaling of fields",
        arguments: [
            (0, 64), (64, 0), (-1, 64), (.min, .max), (16385, 2), (2, 16385), (16384, 16384),
        ])
    func refusesFrameSizes(width: Int, height: Int) throws {
        let error = #expect(throws: SessionError.self) {
            try CompressionRequest(
                codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: try #require(Rational(1, 30)),
                source: PictureSize(width: width, height: height))
        }
        #expect(error?.status == .parameter && error?.reason.contains("frame") == true)
        let request = try CompressionRequest(
            codec: "hevc", width: 32, height: 16, pixelFormat: "NV12", timeBase: try #require(Rational(1, 30)),
            source: PictureSize(width: 64, height: 64))
        var session = try CompressionAdmission(request: request, properties: PropertyStore(backend: .x265))
        let fields = #expect(throws: SessionError.self) { try session.setProperties(["FieldCount": .int(2)]) }
        #expect(fields?.status == .parameter)
    }

    @Test("A session begins with properties that were given, or not at all")
    func initialProperties() throws {
        let (request, store) = (try makeSession().request, PropertyStore(backend: .x265))
        let session = try CompressionAdmission(
            request: request, properties: store, setting: ["AverageBitRate": .int(500_000)])
        #expect(session.configuration.rateControl == .averageBitRate(500_000) && session.state == .created)
        let error = #expect(throws: SessionError.self) {
            try CompressionAdmission(request: request, properties: store, setting: ["AverageBitRate": .int(-1)])
        }
        #expect(error?.status == .parameter)
    }

    @Test func acceptsFramesFromPrepareOn() throws {
        var session = try makeSession()
        let pools = try makePools()
        #expect(throws: SessionError.self) { try session.admit(frame(1, pts: 0), in: pools) }
        #expect(try session.prepare() != nil)
        #expect(try session.prepare() == nil)
        try session.admit(frame(1, pts: 0), in: pools)
    }

    /// Live properties apply to the next frame, once; others are refused while the encoder is open.
    @Test func passesChangesOnWithTheNextFrame() throws {
        var session = try makeSession()
        let pools = try makePools()
        try session.setProperties(["AverageBitRate": .int(500_000)])
        #expect(session.configuration.rateControl == .averageBitRate(500_000))
        #expect(try session.prepare()?.rateControl == .averageBitRate(500_000))
        #expect(session.takeChange() == nil)
        try session.setProperties(["AverageBitRate": .int(300_000)])
        try session.setProperties(["MaxKeyFrameInterval": .int(7)])
        try session.admit(frame(1, pts: 0), in: pools)
        let change = session.takeChange()
        #expect(change?.rateControl == .averageBitRate(300_000) && change?.maxKeyFrameInterval == 7)
        #expect(session.takeChange() == nil)
        let error = #expect(throws: SessionError.self) { try session.setProperties(["AllowOpenGOP": .bool(false)]) }
        #expect(error?.status == .propertyReadOnly)
    }

    /// An average that has changed keeps its peak limit when the first average returns.
    @Test func limitsThePeakOfAChangedRate() throws {
        var session = try makeSession()
        try session.setProperties(["AverageBitRate": .int(500_000)])
        #expect(try session.prepare()?.bitRate == 500_000)
        let changes: [(String, Int64, Int64)] = [
            ("MaxKeyFrameInterval", 7, 500_000), ("AverageBitRate", 300_000, 600_000),
            ("AverageBitRate", 500_000, 1_000_000),
        ]
        for (key, value, peak) in changes {
            try session.setProperties([key: .int(value)])
            let change = session.takeChange()
            #expect(change?.bitRate == peak, "\(key) \(value)")
        }
    }

    /// Reordering cannot begin in the middle of a stream; the notice says so.
    @Test func keepsAStreamWithoutReordering() throws {
        var session = try makeSession()
        try session.setProperties(["RealTime": .bool(true)])
        _ = try session.prepare()
        try session.setProperties(["RealTime": .bool(false)])
        let taken = session.takeChange()
        let change = try #require(taken)
        #expect(!change.realTime && !change.allowFrameReordering)
        #expect(try session.properties.copy(["Notices"])["Notices"]?.description.contains("not reordered") == true)
    }

    @Test func limitsFramesInFlight() throws {
        var session = try makeSession()
        let pools = try makePools()
        _ = try session.prepare()
        let most = UInt64(CompressionAdmission.maxFramesInFlight)
        for id in 0..<most { try session.admit(frame(id, pts: Int64(id)), in: pools) }
        #expect(throws: SessionError.self) { try session.admit(frame(most, pts: Int64(most)), in: pools) }
        session.release(0)
        try session.admit(frame(most, pts: Int64(most)), in: pools)
    }

    @Test func refusesFramesOutOfOrder() throws {
        var session = try makeSession()
        let pools = try makePools()
        _ = try session.prepare()
        try session.admit(frame(1, pts: 5), in: pools)
        #expect(throws: SessionError.self, "same id") { try session.admit(frame(1, pts: 6), in: pools) }
        #expect(throws: SessionError.self, "same pts") { try session.admit(frame(2, pts: 5), in: pools) }
        #expect(throws: SessionError.self, "earlier pts") { try session.admit(frame(2, pts: 4), in: pools) }
        #expect(throws: SessionError.self, "no such pool") {
            try session.admit(frame(2, pts: 7, pool: 9), in: pools)
        }
        var qp = frame(2, pts: 7)
        qp.baseFrameQP = 52
        #expect(throws: SessionError.self, "QP") { try session.admit(qp, in: pools) }
        for pts in [Int64.max, .min, 1 << 56] {
            #expect(throws: SessionError.self, "pts near overflow") {
                try session.admit(frame(2, pts: pts), in: pools)
            }
        }
        try session.admit(frame(2, pts: 7), in: pools)
    }

    @Test func acceptsAlphaModesOfFramesInSessionsWithAlpha() throws {
        let request = try CompressionRequest(
            codec: "hevc-with-alpha", width: 64, height: 64, pixelFormat: "YUVA", timeBase: Rational(1))
        var session = try CompressionAdmission(
            request: request, properties: PropertyStore(backend: .x265, hasAlpha: true))
        let pools = try makePools()
        _ = try session.prepare()
        var own = frame(1, pts: 0)
        own.layout = FrameLayout.packed(.yuva, width: 64, height: 64).layout
        for (id, mode) in [AlphaChannelMode.premultiplied, .straight, nil].enumerated() {
            (own.frameID, own.pts, own.sourceAlphaMode) = (UInt64(id), Int64(id), mode)
            #expect(try session.admit(own, in: pools).frame.sourceAlphaMode == mode)
        }
        (own.frameID, own.pts, own.flags) = (9, 9, [.premultipliedSource, .straightSource])
        let both = #expect(throws: SessionError.self) { try session.admit(own, in: pools) }
        #expect(both?.status == .parameter && both?.reason.contains("both") == true)

        var opaque = try makeSession()
        _ = try opaque.prepare()
        var plain = frame(1, pts: 0)
        plain.sourceAlphaMode = .straight
        let error = #expect(throws: SessionError.self) { try opaque.admit(plain, in: pools) }
        #expect(error?.status == .parameter && error?.reason.contains("SourceAlphaMode") == true)
    }

    @Test func reportsThePoolsOfFramesInFlight() throws {
        var session = try makeSession()
        let pools = try makePools()
        _ = try session.prepare()
        try session.admit(frame(1, pts: 0), in: pools)
        #expect(session.isUsing(pool: 1) && !session.isUsing(pool: 2))
        session.release(1)
        #expect(!session.isUsing(pool: 1))
    }

    @Test func refusesAProfileBelowTheSourceDepth() throws {
        var session = try makeSession(.p010)
        let error = #expect(throws: SessionError.self) {
            try session.setProperties(["ProfileLevel": .string("HEVC_Main_AutoLevel")])
        }
        #expect(error?.status == .parameter)
        #expect(try session.prepare()?.profile == .main10)
    }
}

/// Two passes over the frames of a session.
@Suite struct CodingPassTests {
    private static let first: [String: PropertyValue] = [
        "AverageBitRate": .int(500_000), "MultiPassStorage": .string("FirstPass"),
    ]

    @Test func theFinalPassHasTheSameTimesAgain() throws {
        var session = try makeSession()
        let pools = try makePools()
        try session.setProperties(Self.first)
        #expect(try session.prepare()?.pass == .first)
        try session.admit(frame(1, pts: 0), in: pools)
        try session.admit(frame(2, pts: 1), in: pools)
        #expect(throws: SessionError.self) { try session.admit(frame(3, pts: 0), in: pools) }
        // A frame that is not read yet belongs to the first pass.
        #expect(throws: SessionError.self) {
            try session.setProperties(["MultiPassStorage": .string("FinalPass")])
        }
        session.release(1)
        session.release(2)
        try session.setProperties(["MultiPassStorage": .string("FinalPass")])
        try session.admit(frame(3, pts: 0), in: pools)
        #expect(session.takeChange()?.pass == .final)
        try session.admit(frame(4, pts: 1), in: pools)
        #expect(session.takeChange() == nil)
    }

    /// x265 needs the statistics of the same settings.
    @Test(arguments: [
        ["AverageBitRate": PropertyValue.int(400_000)], ["MaxKeyFrameInterval": .int(7)],
        ["MultiPassStorage": .null],
    ])
    func nothingElseChanges(_ change: [String: PropertyValue]) throws {
        var session = try makeSession()
        try session.setProperties(Self.first)
        _ = try session.prepare()
        let error = #expect(throws: SessionError.self) { try session.setProperties(change) }
        #expect(error?.status == .parameter && error?.reason.contains("MultiPassStorage") == true)
    }

    @Test(arguments: [
        ["MultiPassStorage": PropertyValue.string("FirstPass")],
        ["MultiPassStorage": .string("FirstPass"), "Quality": .double(0.5)],
        ["MultiPassStorage": .string("FirstPass"), "AverageBitRate": .int(500_000), "RealTime": .bool(true)],
        [
            "MultiPassStorage": .string("FirstPass"), "AverageBitRate": .int(500_000),
            "ExpectedFrameRate": .int(240), "BaseLayerFrameRate": .int(30),
        ],
    ])
    func whatHasNoTwoPassesIsRefused(_ properties: [String: PropertyValue]) throws {
        var session = try makeSession()
        let error = #expect(throws: SessionError.self) { try session.setProperties(properties) }
        #expect(error?.status == .parameter && error?.reason.contains("MultiPassStorage") == true)
    }

    @Test func aSessionBeginsWithTheFirstPass() throws {
        var session = try makeSession()
        try session.setProperties(["AverageBitRate": .int(500_000), "MultiPassStorage": .string("FinalPass")])
        #expect(throws: SessionError.self) { try session.prepare() }
    }
}
