// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into a daemon: the kernel's Landlock as Debian 12's Linux 6.1 has it, version 2 of its interface. Rule sets
// with rights or fields of later versions are refused, as that kernel refuses them (landlock(7)).
#include <errno.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

enum { VERSION = 2 };
// LANDLOCK_ACCESS_FS_EXECUTE to _REFER.
static const uint64_t rights = 0x3fff;

static long call(long number, const long a[6]) {
    long result;
#if defined __x86_64__
    register long d __asm__("r10") = a[3];
    register long e __asm__("r8") = a[4];
    register long f __asm__("r9") = a[5];
    __asm__ volatile("syscall" : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(d), "r"(e), "r"(f)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long n __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(n), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    result = x0;
#else
#error "Add this architecture's system call."
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

// Refuses what version 2 does not know; 0 where it knows all.
static int refusal(const uint64_t *fields, size_t size) {
    // The structure had one field, and further ones must be zero.
    for (size_t i = 1; i < size / sizeof *fields; i++)
        if (fields[i]) return E2BIG;
    return size >= sizeof *fields && fields[0] & ~rights ? EINVAL : 0;
}

__attribute__((visibility("default"))) long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_landlock_create_ruleset) {
        if ((uint32_t)a[2] == LANDLOCK_CREATE_RULESET_VERSION) return VERSION;
        int error = refusal((const uint64_t *)a[0], (size_t)a[1]);
        if (error) {
            errno = error;
            return -1;
        }
    }
    // Flags came later.
    if (number == SYS_landlock_restrict_self && a[1]) {
        errno = EINVAL;
        return -1;
    }
    return call(number, a);
}
