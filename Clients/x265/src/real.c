// SPDX-License-Identifier: GPL-2.0-or-later
// The process's own libx265, and its function tables with this library's functions in them.
#include "preload.h"

#include <dlfcn.h>
#include <pthread.h>

// One for each bit depth that libx265 has.
enum { MAX_TABLES = 4 };

static struct table {
    const x265_api *found; // libx265's
    x265_api real;         // a copy without functions of this library
    x265_api ours;
} tables[MAX_TABLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

// By its name, because RTLD_NEXT does not find the libx265 of a plugin: plugins are loaded into a scope of their own.
static void open_library(void) { library = dlopen("libx265.so." NAME_OF(X265_BUILD), RTLD_NOW | RTLD_LOCAL); }

// A function of this build's libx265.
static void *real_function(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return library ? dlsym(library, name) : NULL;
}

void *foreign_function(const char *name, void *caller) {
    void *found = dlsym(RTLD_NEXT, name);
    Dl_info info;
    if (found || !dladdr(caller, &info) || !info.dli_fname) return found;
    // A plugin's libx265 is among the libraries that the plugin needs.
    void *plugin = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!plugin) return NULL;
    found = dlsym(plugin, name);
    dlclose(plugin);
    Dl_info own;
    // A program that links this library finds its functions.
    bool is_own = found && dladdr(found, &info) && dladdr((void *)&lock, &own) && info.dli_fbase == own.dli_fbase;
    return is_own ? NULL : found;
}

#define OPEN(number) \
    static x265_encoder *open_##number(x265_param *param) { return open_encoder(&tables[number].real, param); }
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

// The tables of libx265's table; NULL where this library does not know its structures.
static struct table *table_of(const x265_api *found) {
    struct table *result = NULL;
    if (!found || !is_known(found)) return NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_TABLES && !result; i++) {
        if (!tables[i].found) {
            tables[i].real = tables[i].ours = *found;
            restore_functions(&tables[i].real, real_function);
            replace_functions(&tables[i].ours);
            tables[i].ours.encoder_open = opens[i];
            tables[i].found = found;
        }
        if (tables[i].found == found) result = &tables[i];
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static const x265_api *get_found(int depth) {
    __typeof__(&x265_api_get) get = real_function(NAME_OF(x265_api_get));
    return get ? get(depth) : NULL;
}

const x265_api *real_api(void) {
    struct table *known = table_of(get_found(0));
    return known ? &known->real : NULL;
}

const x265_api *x265_api_get(int depth) {
    const x265_api *found = get_found(depth);
    struct table *known = table_of(found);
    return known ? &known->ours : found;
}

const x265_api *x265_api_query(int depth, int version, int *error) {
    __typeof__(&x265_api_query) query =
        version == X265_BUILD ? real_function("x265_api_query") : foreign_function("x265_api_query", __builtin_return_address(0));
    const x265_api *found = query ? query(depth, version, error) : NULL;
    struct table *known = table_of(found);
    if (!query && error) *error = X265_API_QUERY_ERR_FUNC_NOT_FOUND;
    return known ? &known->ours : found;
}
