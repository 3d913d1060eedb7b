// SPDX-License-Identifier: GPL-2.0-or-later
// The process's own libx265, and its function tables with this library's functions in them.
#include "preload.h"

#include <dlfcn.h>
#include <pthread.h>

// One for each bit depth that libx265 has.
enum { MAX_TABLES = 4 };

static struct table {
    const x265_api *real;
    x265_api ours;
} tables[MAX_TABLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

// By its name, because RTLD_NEXT does not find the libx265 of a plugin: plugins are loaded into a scope of their own.
static void open_library(void) { library = dlopen("libx265.so." TEXT_OF(X265_BUILD), RTLD_NOW | RTLD_LOCAL); }

void *real_function(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    void *found = library ? dlsym(library, name) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}

static const x265_api *get_real(int depth) {
    __typeof__(&x265_api_get) get = real_function(TEXT_OF(x265_api_get));
    return get ? get(depth) : NULL;
}

const x265_api *real_api(void) { return get_real(0); }

#define OPEN(number) \
    static x265_encoder *open_##number(x265_param *param) { return open_encoder(tables[number].real, param); }
OPEN(0)
OPEN(1)
OPEN(2)
OPEN(3)
static x265_encoder *(*const opens[MAX_TABLES])(x265_param *) = {open_0, open_1, open_2, open_3};

// Structures of another size come from a build with other options, whose parameters cannot be read here.
static bool is_known(const x265_api *api) {
    return api->api_major_version == X265_MAJOR_VERSION && api->api_build_number == X265_BUILD &&
           api->sizeof_param == sizeof(x265_param) && api->sizeof_picture == sizeof(x265_picture) &&
           api->sizeof_stats == sizeof(x265_stats);
}

// The table for an app; libx265's own where this library does not know its structures.
static const x265_api *intercepted(const x265_api *real) {
    if (!real || !is_known(real)) return real;
    const x265_api *result = real;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_TABLES; i++) {
        if (!tables[i].real) {
            tables[i].ours = *real;
            replace_functions(&tables[i].ours);
            tables[i].ours.encoder_open = opens[i];
            tables[i].real = real;
        }
        if (tables[i].real == real) {
            result = &tables[i].ours;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

const x265_api *x265_api_get(int depth) { return intercepted(get_real(depth)); }

const x265_api *x265_api_query(int depth, int version, int *error) {
    __typeof__(&x265_api_query) query = real_function("x265_api_query");
    if (query) return intercepted(query(depth, version, error));
    if (error) *error = X265_API_QUERY_ERR_FUNC_NOT_FOUND;
    return NULL;
}
