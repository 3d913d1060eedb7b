// SPDX-License-Identifier: MIT

/// Values of `payloadType` (H.265 D.2.1) that this project reads or writes.
public enum SEIPayloadType {
    public static let pictureTiming = 1
    /// `user_data_registered_itu_t_t35`: HDR10+ and closed captions among others.
    public static let registeredUserData = 4
    public static let unregisteredUserData = 5
    public static let decodedPictureHash = 132
    public static let masteringDisplay = 137
    public static let contentLight = 144
    public static let alternativeTransfer = 147
    public static let ambientViewing = 148
    public static let alphaChannel = 165
}

extension SEIMessage {
    /// What a message is about, by which two messages of an access unit are alternatives.
    struct Subject: Hashable {
        let payloadType: Int
        /// Of registered user data: the country, the provider and what the provider distinguishes first.
        let provider: [UInt8]
    }

    var subject: Subject {
        let isRegistered = payloadType == SEIPayloadType.registeredUserData
        return Subject(
            payloadType: payloadType,
            provider: isRegistered ? Array(payload.prefix(HDR10PlusMetadata.identifier.count)) : [])
    }
}
