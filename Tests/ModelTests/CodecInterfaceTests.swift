// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@Suite struct CodecInterfaceTests {
    @Test(
        "The name of a node distinguishes NVIDIA's cards from their driver's other nodes and from render nodes",
        arguments: [
            ("/dev/nvidia0", 0), ("/dev/nvidia12", 12), ("/tmp/nodes/nvidia3", 3), ("/dev/nvidiactl", nil),
            ("/dev/nvidia-uvm", nil), ("/dev/nvidia", nil), ("/dev/nvidia0x", nil), ("/dev/nvidia１", nil),
            ("/dev/nvidia99999999999999999999", nil), ("/dev/nvidia-caps/nvidia-cap1", nil),
            ("/dev/dri/renderD128", nil), ("/dev/nvidia0/", 0), ("/", nil), ("", nil),
        ] as [(String, Int?)])
    func nodes(_ node: String, _ minor: Int?) {
        #expect(CodecInterface.nvidiaMinor(of: node) == minor)
        #expect(CodecInterface(node: node) == (minor == nil ? .vaapi : .nvidia))
    }

    /// Clients may have stored ids that contain them.
    @Test("Names in ids are those of earlier versions")
    func identifiers() {
        #expect(CodecInterface.allCases.map(\.decoderID) == ["vaapi", "nvdec"])
        #expect(CodecInterface.allCases.map(\.encoderID) == ["vaapi", "nvenc"])
    }
}
