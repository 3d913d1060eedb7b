// SPDX-License-Identifier: MIT
// cases TABLE ADDRESS [NAME]: runs Tests/Clients/cases.json, or one case of it, over the C library.
#include "cases/cases.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>

static const char *current = "the table";
static int current_step;

void stop(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cases: %s, step %d: ", current, current_step);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

int64_t integer(json step, const char *name, int64_t otherwise) {
    json value;
    int64_t number;
    if (!hwdi_json_member(step, name, &value)) return otherwise;
    if (!hwdi_json_integer(value, &number)) stop("%s is no integer", name);
    return number;
}

bool has(json step, const char *name) {
    json value;
    return hwdi_json_member(step, name, &value);
}

bool truth(json step, const char *name) {
    json value;
    bool result = false;
    if (hwdi_json_member(step, name, &value) && !hwdi_json_boolean(value, &result)) stop("%s is no truth value", name);
    return result;
}

bool contains(json step, const char *name, int64_t number) {
    json list, value;
    size_t place = 0;
    int64_t found;
    if (!hwdi_json_member(step, name, &list)) return false;
    while (hwdi_json_next(list, &place, NULL, &value))
        if (hwdi_json_integer(value, &found) && found == number) return true;
    return false;
}

char *string(json step, const char *name) {
    json value;
    return hwdi_json_member(step, name, &value) ? hwdi_json_string(value) : NULL;
}

uint32_t fourcc(json step, const char *name) {
    char *text = string(step, name);
    uint32_t result = text && strlen(text) == 4 ? HWD_FOURCC(text[0], text[1], text[2], text[3]) : 0;
    free(text);
    return result;
}

size_t hex_bytes(json step, const char *name, uint8_t *out, size_t capacity) {
    char *text = string(step, name);
    size_t count = text ? strlen(text) / 2 : 0;
    if (!text || count > capacity) stop("%s is no hexadecimal text", name);
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) stop("%s is no hexadecimal text", name);
        out[i] = (uint8_t)byte;
    }
    free(text);
    return count;
}

hwd_color color_of(json step) {
    json color;
    hwd_color result = {0};
    if (!hwdi_json_member(step, "color", &color)) return result;
    result.primaries = (uint8_t)integer(color, "primaries", 2);
    result.transfer = (uint8_t)integer(color, "transfer", 2);
    result.matrix = (uint8_t)integer(color, "matrix", 2);
    result.full_range = (uint8_t)integer(color, "full_range", 0);
    result.chroma_location = (uint8_t)integer(color, "chroma_location", 255);
    return result;
}

// ---- Steps without results

// A member's JSON with a NUL, which the caller frees.
static char *member_text(json step, const char *name) {
    json value;
    if (!hwdi_json_member(step, name, &value)) stop("%s is missing", name);
    return strndup(value.at, value.size);
}

static int do_set(runner *run, json step) {
    char *properties = member_text(step, "properties");
    int result = hwd_set_properties(run->session, properties, TIMEOUT);
    free(properties);
    return result;
}

static int do_copy(runner *run, json step) {
    char *names = member_text(step, "names"), *text = NULL;
    int result = hwd_copy_properties(run->session, names, TIMEOUT, &text);
    free(names);
    if (result < 0) return result;
    json values, wanted, key, value, found;
    size_t place = 0;
    if (!hwdi_json_check(text, strlen(text), &values) || !hwdi_json_member(step, "values", &wanted)) stop("no values");
    while (hwdi_json_next(wanted, &place, &key, &value)) {
        char *name = hwdi_json_string(key);
        if (!hwdi_json_member(values, name, &found) || found.size != value.size || memcmp(found.at, value.at, value.size))
            stop("%s is not %.*s in %s", name, (int)value.size, value.at, text);
        free(name);
    }
    hwd_free(text);
    return 0;
}

static int do_prepare(runner *run, json step) { return (void)step, hwd_prepare(run->session, TIMEOUT); }

static int do_can_accept_format(runner *run, json step) {
    char *format = string(step, "format");
    uint8_t other[4096];
    bool own = format && !strcmp(format, "@format");
    size_t size = own ? run->format_size : hex_bytes(step, "format", other, sizeof other);
    free(format);
    return hwd_can_accept_format(run->session, own ? run->format : other, size, TIMEOUT);
}

static int do_kill_worker(runner *run, json step) {
    (void)step;
    char *reply;
    int result = hwd_call(run->daemon, "org.hwdaemon.ListSessions", NULL, TIMEOUT, &reply);
    if (result < 0) return result;
    json document, sessions, entry;
    size_t place = 0;
    int64_t pid = 0;
    if (!hwdi_json_check(reply, strlen(reply), &document) || !hwdi_json_member(document, "sessions", &sessions)) stop("no sessions");
    while (hwdi_json_next(sessions, &place, NULL, &entry)) {
        char *id = string(entry, "session");
        if (id && !strcmp(id, run->info.session)) pid = integer(entry, "pid", 0);
        free(id);
    }
    hwd_free(reply);
    if (pid <= 1) stop("ListSessions does not have the session");
    return kill((pid_t)pid, SIGKILL);
}

static const struct step {
    const char *name;
    int (*run)(runner *run, json step);
} steps[] = {
    {"create", do_create}, {"set", do_set}, {"copy", do_copy}, {"prepare", do_prepare}, {"encode", do_encode},
    {"complete", do_complete}, {"packets", check_packets}, {"decode", do_decode}, {"can_accept_format", do_can_accept_format},
    {"pictures", check_pictures}, {"transfer", do_transfer}, {"transferred", check_transferred},
    {"change_effects", do_change_effects},
    {"kill_worker", do_kill_worker}, {"wait_for_end", do_wait_for_end},
};

static void run_step(runner *run, json step) {
    char *name = string(step, "do");
    const struct step *found = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (name && !strcmp(steps[i].name, name)) found = &steps[i];
    if (!found) stop("there is no step %s", name ? name : "without do");
    if (!run->session && found->run != do_create) stop("there is no session");
    int result = found->run(run, step);
    int64_t status = integer(step, "status", 0);
    if (result != status) stop("%s: %d (%s) instead of %" PRId64, name, result, result < 0 ? hwd_last_error() : "", status);
    free(name);
}

static void run_case(hwd_daemon *daemon, json entry) {
    runner *run = calloc(1, sizeof *run);
    json list, step;
    size_t place = 0;
    run->daemon = daemon;
    current_step = 0;
    if (!hwdi_json_member(entry, "steps", &list)) stop("there are no steps");
    while (hwdi_json_next(list, &place, NULL, &step)) {
        current_step++;
        run_step(run, step);
    }
    hwd_destroy(run->session);
    forget_results(run, 0);
    hwd_pool_unref(run->source);
    hwd_pool_unref(run->target);
    free(run);
}

int main(int argc, char **argv) {
    static char text[1 << 20];
    FILE *file = argc < 3 ? NULL : fopen(argv[1], "rb");
    size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    json table, list, entry;
    size_t place = 0;
    int count = 0;
    hwd_daemon *daemon;
    if (!hwdi_json_check(text, size, &table) || !hwdi_json_member(table, "cases", &list)) stop("usage: cases TABLE ADDRESS [NAME]");
    fclose(file);
    if (hwd_open(argv[2], 0, &daemon) < 0) stop("%s", hwd_last_error());
    while (hwdi_json_next(list, &place, NULL, &entry)) {
        char *name = string(entry, "name");
        current = name;
        if (argc < 4 || strstr(name, argv[3])) {
            run_case(daemon, entry);
            count++;
        }
        free(name);
    }
    hwd_close(daemon);
    printf("cases: %d cases of the table pass over the C library\n", count);
    return count == 0;
}
