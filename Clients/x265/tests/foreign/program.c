// SPDX-License-Identifier: GPL-2.0-or-later
// A program, or with an argument its plugin, that uses a libx265 of another build by the names of functions.
#include <dlfcn.h>
#include <stddef.h>

#ifdef HOST
int main(int argc, char **argv) {
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*check)(void) = plugin ? (int (*)(void))dlsym(plugin, "check") : NULL;
    return check ? check() : 2;
}
#else
int x265_encoder_encode(void *encoder, void *nals, void *count, void *in, void *out);
const void *x265_api_query(int depth, int version, int *error);

int check(void) {
    char encoder[64] = {0};
    int error = 0;
    if (x265_encoder_encode(encoder, NULL, NULL, NULL, NULL) != 42) return 1;
    return x265_api_query(8, 209, &error) || error != 217;
}

int main(void) { return check(); }
#endif
