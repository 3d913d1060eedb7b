// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded, it has libva take any character device for a render node.

int drmGetNodeTypeFromFd(int file) {
    (void)file;
    return 2;
}
