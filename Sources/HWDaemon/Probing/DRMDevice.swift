// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDDRM
internal import Glibc
internal import HWDModel

/// What libdrm reports about a DRM device: its place on the PCI bus and its PCI id.
struct DRMDevice: Hashable {
    /// Domain, bus, device and function (`0000:03:00.0`); nil if the device is on another bus.
    var pciAddress: String?
    /// PCI vendor and device ids in hexadecimal (`8086:8a52`); nil if the device is on another bus.
    var pciID: String?

    /// Asks libdrm, which need not open the device; nil for one that is not the DRM's, such as a simulated one.
    init?(number: dev_t) {
        var device: drmDevicePtr?
        // No flags: reading the PCI revision could wake a sleeping GPU.
        guard drmGetDeviceFromDevId(number, 0, &device) == 0, let found = device else { return nil }
        defer { drmFreeDevice(&device) }
        self.init(found.pointee)
    }

    /// Reads libdrm's description.
    init(_ device: drmDevice) {
        guard device.bustype == DRM_BUS_PCI else { return }
        if let bus = device.businfo.pci?.pointee {
            let place = "\(Self.hex(bus.domain)):\(Self.hex(bus.bus)):\(Self.hex(bus.dev))"
            pciAddress = "\(place).\(bus.func)"
        }
        if let info = device.deviceinfo.pci?.pointee {
            pciID = "\(Self.hex(info.vendor_id)):\(Self.hex(info.device_id))"
        }
    }

    /// The link that udev makes to the render node by its place on the bus; nil if there is no such link to `number`.
    func link(to number: dev_t) -> String? {
        guard let pciAddress else { return nil }
        let path = "/dev/dri/by-path/pci-\(pciAddress)-render"
        var status = stat()
        return stat(path, &status) == 0 && status.st_rdev == number ? path : nil
    }

    private static func hex(_ value: some FixedWidthInteger) -> String {
        withUnsafeBytes(of: value.bigEndian) { Hexadecimal.text(Array($0)) }
    }
}

/// A kernel driver, as one of the DRM describes itself (`DRM_IOCTL_VERSION`).
struct DRMDriver: Hashable {
    /// `i915`, `amdgpu`.
    var name: String
    /// The interface's major, minor and patch level (`3.57.0`).
    var version: String

    /// Asks the driver of an open node; nil if that is not the DRM's.
    init?(file: Int32) {
        guard let version = drmGetVersion(file) else { return nil }
        defer { drmFreeVersion(version) }
        self.init(version.pointee)
    }

    /// A driver that is not asked through libdrm.
    init(name: String, version: String) { (self.name, self.version) = (name, version) }

    /// Reads libdrm's description; nil if it has no name.
    init?(_ version: drmVersion) {
        guard let name = version.name, version.name_len > 0 else { return nil }
        let bytes = UnsafeRawBufferPointer(start: name, count: Int(version.name_len))
        self.name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        self.version = "\(version.version_major).\(version.version_minor).\(version.version_patchlevel)"
    }
}
