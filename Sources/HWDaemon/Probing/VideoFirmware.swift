// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDDRM
internal import Glibc
internal import HWDModel

/// Firmware of a GPU's video engines.
///
/// Where it is missing, drivers start and claim fewer codecs or modes.
enum VideoFirmware {
    /// What is missing, and what that means.
    typealias Fault = (cause: ProbeCause, reason: String)

    /// What is missing, by the kernel; nil if nothing is, or if the driver claims more than it could without firmware.
    ///
    /// - Parameter node: the open render node.
    static func fault(node: Int32, _ kernelDriver: String?, _ paths: [CodecPath]) -> Fault? {
        switch kernelDriver {
        case "i915" where hasOnlyConstantQP(paths): intelFault(status: intelStatus(node))
        case "amdgpu" where !paths.contains(where: \.claimed):
            hasVideoEngine(node) == false
                ? (
                    .vcnFirmware,
                    "the kernel reports no video engine on this GPU: its firmware (VCN or UVD) is missing, or the GPU has none"
                )
                : nil
        default: nil
        }
    }

    /// Whether every encoder that the driver claims takes a QP and no bit rate.
    static func hasOnlyConstantQP(_ paths: [CodecPath]) -> Bool {
        let encoders = paths.filter { $0.operation == .encode && $0.claimed }
        return !encoders.isEmpty
            && encoders.allSatisfy { ($0.hardware?.rateControl ?? []).allSatisfy { $0 == "CQP" } }
    }

    /// What the HuC's status means (`I915_PARAM_HUC_STATUS` in i915_drm.h); nil if it runs or the device has none.
    ///
    /// - Parameter status: 1 if it runs, 0 if it does not, a negated errno if it cannot.
    static func intelFault(status: Int32) -> Fault? {
        let consequence = "its encoder has no bit rates, because the HuC firmware"
        return switch status {
        case 1: nil
        case 0: (.hucFirmware, "\(consequence) does not run")
        case -ENOPKG: (.hucFirmware, "\(consequence) is not installed")
        case -ENOEXEC: (.hucFirmware, "\(consequence) is damaged or of another version")
        case -EOPNOTSUPP: (.hucFirmware, "\(consequence) is disabled (enable_guc of the kernel module i915)")
        default: nil
        }
    }

    private static func intelStatus(_ node: Int32) -> Int32 {
        var value: Int32 = 0
        let status = withUnsafeMutablePointer(to: &value) { pointer in
            var query = drm_i915_getparam()
            query.param = I915_PARAM_HUC_STATUS
            query.value = pointer
            return drmCommandWriteRead(
                node, UInt(DRM_I915_GETPARAM), &query, UInt(MemoryLayout.size(ofValue: query)))
        }
        return status < 0 ? status : value
    }

    /// Whether the kernel offers an engine that decodes; nil if it does not say.
    private static func hasVideoEngine(_ node: Int32) -> Bool? {
        for type in [AMDGPU_HW_IP_VCN_DEC, AMDGPU_HW_IP_VCN_ENC, AMDGPU_HW_IP_UVD] {
            guard let rings = rings(node, UInt32(type)) else { return nil }
            if rings != 0 { return true }
        }
        return false
    }

    /// The rings of an engine, a bit for each; nil if the kernel does not say.
    private static func rings(_ node: Int32, _ type: UInt32) -> UInt32? {
        var engine = drm_amdgpu_info_hw_ip()
        let status = withUnsafeMutablePointer(to: &engine) { pointer in
            var query = drm_amdgpu_info()
            query.return_pointer = UInt64(UInt(bitPattern: pointer))
            query.return_size = UInt32(MemoryLayout<drm_amdgpu_info_hw_ip>.size)
            query.query = UInt32(AMDGPU_INFO_HW_IP_INFO)
            query.query_hw_ip.type = type
            return drmCommandWrite(node, UInt(DRM_AMDGPU_INFO), &query, UInt(MemoryLayout.size(ofValue: query)))
        }
        return status == 0 ? engine.available_rings : nil
    }
}
