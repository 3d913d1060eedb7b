// SPDX-License-Identifier: MIT
// Seccomp filters and Landlock rules of the calling process. Functions return 0, a descriptor or −errno.
#ifndef CSANDBOX_H
#define CSANDBOX_H

#include <stddef.h>
#include <stdint.h>

// The number of a system call on this architecture; −1 where it does not exist or is not listed.
int chwd_call_number(const char *name);
// The name of a listed system call; NULL for any other number.
const char *chwd_call_name(int number);
// The audit architecture that `seccomp_data.arch` has in this process.
uint32_t chwd_audit_architecture(void);

// One instruction of a classic BPF program, as `struct sock_filter`.
struct chwd_instruction {
    uint16_t code;
    uint8_t jump_true, jump_false;
    uint32_t operand;
};

// Bit of the 16-bit data of SECCOMP_RET_TRAP: the call ends the process. The lower bits are the errno it fails with.
enum { CHWD_TRAP_ENDS = 1 << 15 };

// Installs the handler of SIGSYS. It stores the first refused call's number plus one in `first` and counts in `count`,
// both atomic 64-bit words, then lets the call fail with the errno that the filter names, or ends the process.
int chwd_install_trap_handler(void *first, void *count);
// Installs a filter for all threads; PR_SET_NO_NEW_PRIVS is set.
int chwd_install_filter(const struct chwd_instruction *program, size_t count);

// The kernel's version of Landlock, or −errno where it has none.
int chwd_landlock_version(void);
// A rule set that handles these rights. `scoped` is ignored before version 6.
int chwd_landlock_create(uint64_t file_rights, uint64_t network_rights, uint64_t scoped);
// Grants rights beneath a path; −ENOENT where it does not exist. Rights that a file cannot have are left out for a file.
int chwd_landlock_allow(int rules, const char *path, uint64_t rights, uint64_t file_rights);
// Restricts the calling thread and those it starts.
int chwd_landlock_restrict(int rules);

// Reads a file's access control list (acl(5)), in the layout of linux/posix_acl_xattr.h. Its size; 0 where the file has none, or −errno.
long chwd_access_list(const char *path, void *bytes, size_t size);

#endif
