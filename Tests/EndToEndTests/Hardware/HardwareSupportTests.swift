// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import Testing

extension EndToEnd {
    /// The questions that an app asks about hardware before it opens a session.
    @Suite("Hardware support") struct HardwareSupportTests {
        @Test("A verified driver is named, and each reason against it")
        func verifiedDriver() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: state)
            let daemon = server.daemon
            let hardware = try #require(try daemon.call(ListEncoders.self, Empty()).encoders.first)
            for depth in [nil, 8, 10] {
                let encode = try daemon.isHardwareEncodeSupported(
                    HardwareQuestion(bitDepth: depth, width: 1280, height: 720))
                #expect(encode.supported && encode.encoderID == hardware.id && encode.reason == nil)
            }
            let reasons = [
                (HardwareQuestion(bitDepth: 12), "12-bit"),
                (HardwareQuestion(width: 16384, height: 16384), "16384x16384"),
                (HardwareQuestion(codec: "vp8"), "not vp8"),
            ]
            for (question, part) in reasons {
                let encode = try daemon.isHardwareEncodeSupported(question)
                #expect(!encode.supported && encode.encoderID == nil)
                #expect(encode.reason?.contains(part) == true, "\(encode)")
                let decode = try daemon.isHardwareDecodeSupported(question)
                #expect(!decode.supported && decode.decoderID == nil)
                #expect(
                    decode.reason?.contains(question.codec == "hevc" ? part : "no vp8 decoder") == true, "\(decode)"
                )
            }
        }

        /// The answer about decoding is that of a session that requires hardware, and of the list of decoders.
        @Test("Decoders are listed as sessions find them")
        func decoders() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: state)
            let daemon = server.daemon
            let decoders = try daemon.decoders()
            #expect(decoders.last?.id == "org.hwdaemon.decoder.libavcodec" && decoders.last?.hardware == false)
            let answer = try daemon.isHardwareDecodeSupported(HardwareQuestion())
            #expect(answer.supported && answer.reason == nil)
            #expect(answer.decoderID == "org.hwdaemon.decoder.vaapi.null")
            let hardware = decoders.filter(\.hardware)
            #expect(
                hardware.map(\.bitDepths) == [[8], [10]]
                    && hardware.allSatisfy { $0.verified && $0.codec == "hevc" })
            #expect(hardware.allSatisfy { $0.id == answer.decoderID && $0.maxWidth == 8192 })
        }

        @Test("A machine without hardware says so at once, and bad questions are refused by name")
        func noHardware() throws {
            let server = try TestDaemon()
            let daemon = server.daemon
            let answer = try daemon.isHardwareEncodeSupported(HardwareQuestion())
            #expect(!answer.supported && answer.reason != nil, "\(answer)")
            #expect(try daemon.decoders().map(\.id) == ["org.hwdaemon.decoder.libavcodec"])
            for (question, member) in [
                (HardwareQuestion(width: 640), "height"), (HardwareQuestion(width: 0, height: 1), "width"),
                (HardwareQuestion(bitDepth: -8), "bit_depth"),
            ] {
                let error = #expect(throws: ClientError.self) { try daemon.isHardwareDecodeSupported(question) }
                #expect(error?.description.contains(member) == true, "\(error.map { "\($0)" } ?? "")")
            }
        }
    }
}
