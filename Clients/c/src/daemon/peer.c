// SPDX-License-Identifier: MIT
// Which listening users the library trusts (docs/protocol.md, Who listens).
#include "base/internal.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool hwdi_trusts_folder(uid_t peer, uid_t own, uid_t owner, mode_t mode) {
    // With an access control list, the group's bits are the most that it grants.
    return S_ISDIR(mode) && (owner == 0 || owner == own || owner == peer) && (mode & 022) == 0;
}

// Whether only the user who listens could have made the socket at an address.
static bool is_made_by(uid_t peer, uid_t own, const char *address) {
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    struct stat status;
    if (address[0] != '/' || strlen(address) >= sizeof folder || lstat(address, &status) < 0 || status.st_uid != peer) return false;
    for (const char *slash = address; slash; slash = strchr(slash + 1, '/')) {
        size_t length = slash == address ? 1 : (size_t)(slash - address);
        memcpy(folder, address, length);
        folder[length] = 0;
        if (lstat(folder, &status) < 0 || !hwdi_trusts_folder(peer, own, status.st_uid, status.st_mode)) return false;
    }
    return true;
}

int hwdi_check_peer(int fd, const char *address) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    uid_t own = geteuid();
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return hwdi_fail_errno(errno, "the user who listens is not known");
    if (peer.uid == own || peer.uid == 0 || is_made_by(peer.uid, own, address)) return 0;
    return hwdi_fail(-EACCES, "user %u listens on %s and is not trusted: neither this user nor root, and others can replace the socket",
                     (unsigned)peer.uid, address);
}
