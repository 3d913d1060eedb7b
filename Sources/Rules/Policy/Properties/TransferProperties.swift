// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension PropertyTable {
    /// The names of kVTScalingMode.
    private static let scalingModes = ["Normal", "CropSourceToCleanAperture", "Letterbox", "Trim"]

    /// The properties of pixel-transfer sessions.
    public static let transfer: [PropertySpec] = [
        PropertySpec(
            .scalingMode, .choice(scalingModes), default: .string("Normal"), access: .live,
            """
            Which part of the source becomes which part of the target. Normal: all of it becomes all of it; \
            CropSourceToCleanAperture: the clean aperture becomes all of it; Letterbox: the clean aperture fits into the \
            target in its proportions, the rest is black; Trim: it fills the target in its proportions, what exceeds it is cut \
            off.
            """),
        PropertySpec(
            .cleanAperture, .aperture, access: .live,
            "The part of the source that is shown, for every ScalingMode but Normal; all of it by default."),
        PropertySpec(
            .realTime, .boolean, default: .bool(false), access: .live,
            """
            Whether frames are of a live source: the session's threads then run before those of other sessions. Set it before \
            the first frame: priority that was given up does not come back.
            """),
        .priority(until: "the first frame", access: .live),

        // Read-only.
        PropertySpec(.pixelTransferDevice, .text, access: .readOnly, "The device that converts."),
        PropertySpec(.pixelTransferDeviceReason, .text, access: .readOnly, "Why this device was chosen."),
        PropertySpec(.fallbackReason, .text, access: .readOnly, "Why it is not a GPU, when one was allowed."),
        PropertySpec(
            .notices, .text, access: .readOnly, "What differs from the settings; null when there is nothing."),
        PropertySpec(
            .pixelTransferMemory, .text, access: .readOnly,
            "How many pictures a GPU accessed in place, how many were copied, and why; null without a GPU."),
    ]
}
