// SPDX-License-Identifier: MIT
#include "hostile/fake.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int fake_listen(char address[32]) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(address, 32, "@hwd-fake-%d", (int)getpid());
    memcpy(at.sun_path + 1, address + 1, strlen(address) - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))) < 0 ||
        listen(listener, 16) < 0) {
        perror("the listener");
        exit(1);
    }
    return listener;
}

int fake_memory(void) {
    int memory = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(memory, FAKE_MEMORY) < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) < 0) {
        perror("the memory");
        exit(1);
    }
    return memory;
}

bool fake_read_call(int fd, char *call, size_t capacity) {
    ssize_t count = 0, got;
    while (count == 0 || call[count - 1] != 0) {
        if ((got = read(fd, call + count, capacity - (size_t)count)) <= 0) return false;
        count += got;
    }
    return true;
}

const char *fake_reply(int kind) {
    static const char *replies[] = {
        [HWD_COMPRESSION] = "{\"parameters\":{\"session\":\"0a1b\",\"encoder_id\":\"e\",\"using_hardware\":false,"
                            "\"max_frames_in_flight\":4,\"max_packets_in_flight\":4}}",
        [HWD_DECOMPRESSION] = "{\"parameters\":{\"session\":\"0a1b\",\"decoder_id\":\"d\",\"using_hardware\":false,"
                              "\"width\":64,\"height\":48,\"pixel_format\":\"NV12\","
                              "\"max_packets_in_flight\":4,\"max_frames_in_flight\":4}}",
        [HWD_TRANSFER] = "{\"parameters\":{\"session\":\"0a1b\",\"device\":\"cpu\",\"device_reason\":\"asked\",\"using_gpu\":false,"
                         "\"max_frames_in_flight\":4}}",
    };
    return replies[kind];
}

bool fake_read(int fd, void *bytes, size_t size) {
    for (uint8_t *at = bytes; size > 0;) {
        ssize_t count = read(fd, at, size);
        if (count <= 0) return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}

bool fake_send(int fd, const void *bytes, size_t size, int memory) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {(void *)bytes, size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (memory >= 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &memory, sizeof memory);
    }
    return sendmsg(fd, &header, MSG_NOSIGNAL) == (ssize_t)size;
}

void fake_put(uint8_t *at, uint64_t value, int size) {
    for (int i = 0; i < size; i++) at[i] = (uint8_t)(value >> 8 * i);
}

uint64_t fake_get(const uint8_t *at, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

int fake_create(hwd_daemon *daemon, int kind, int timeout_ms, hwd_session **session) {
    hwd_rational time_base = {1, 30};
    if (kind == HWD_COMPRESSION) {
        hwd_compression_config config;
        HWD_INIT(config);
        config.width = 64, config.height = 48, config.pixel_format = HWD_NV12, config.time_base = time_base;
        config.timeout_ms = timeout_ms;
        return hwd_compression_create(daemon, &config, session);
    }
    if (kind == HWD_DECOMPRESSION) {
        hwd_decompression_config config;
        HWD_INIT(config);
        config.format = "format", config.format_size = 6, config.time_base = time_base;
        config.timeout_ms = timeout_ms;
        return hwd_decompression_create(daemon, &config, session);
    }
    hwd_transfer_config config;
    HWD_INIT(config);
    config.width = 64, config.height = 48, config.source.pixel_format = HWD_NV12, config.target.pixel_format = HWD_NV12;
    config.timeout_ms = timeout_ms;
    return hwd_transfer_create(daemon, &config, session);
}
