// SPDX-License-Identifier: GPL-2.0-or-later
#include "CHWDPipeWire.h"

#include <errno.h>
#include <pipewire/pipewire.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    void (*found)(void *, const hwd_pw_node *);
    void *context;
    struct pw_main_loop *loop;
    int sync, result;
};

static void on_global(
    void *data, uint32_t id, uint32_t permissions, const char *type, uint32_t version, const struct spa_dict *properties) {
    (void)permissions, (void)version;
    struct listing *listing = data;
    if (strcmp(type, PW_TYPE_INTERFACE_Node) != 0 || !properties) return;
    const char *class = spa_dict_lookup(properties, PW_KEY_MEDIA_CLASS);
    if (!class || (strcmp(class, "Video/Source") != 0 && strcmp(class, "Stream/Output/Video") != 0)) return;
    const char *serial = spa_dict_lookup(properties, PW_KEY_OBJECT_SERIAL);
    const hwd_pw_node node = {
        id, serial ? strtoull(serial, NULL, 10) : id, spa_dict_lookup(properties, PW_KEY_NODE_NAME),
        spa_dict_lookup(properties, PW_KEY_NODE_DESCRIPTION)};
    listing->found(listing->context, &node);
}

static void on_done(void *data, uint32_t id, int sequence) {
    struct listing *listing = data;
    if (id != PW_ID_CORE || sequence != listing->sync) return;
    listing->result = 0;
    pw_main_loop_quit(listing->loop);
}

static void on_core_error(void *data, uint32_t id, int sequence, int result, const char *message) {
    (void)sequence, (void)message;
    struct listing *listing = data;
    if (id != PW_ID_CORE) return;
    listing->result = result;
    pw_main_loop_quit(listing->loop);
}

static void on_timeout(void *data, uint64_t count) {
    (void)count;
    pw_main_loop_quit(((struct listing *)data)->loop);
}

int hwd_pw_video_list(void (*found)(void *, const hwd_pw_node *), void *context) {
    static const struct pw_registry_events registry_events = {PW_VERSION_REGISTRY_EVENTS, .global = on_global};
    static const struct pw_core_events core_events = {
        PW_VERSION_CORE_EVENTS, .done = on_done, .error = on_core_error};
    if (!hwd_pipewire_prepare()) return -ENOMEM;
    struct listing listing = {found, context, pw_main_loop_new(NULL), 0, -ETIMEDOUT};
    if (!listing.loop) return -ENOMEM;
    struct pw_loop *loop = pw_main_loop_get_loop(listing.loop);
    struct pw_context *connection = pw_context_new(loop, NULL, 0);
    struct pw_core *core = connection ? pw_context_connect(connection, NULL, 0) : NULL;
    if (!core) {
        listing.result = -EHOSTDOWN;
    } else {
        struct spa_hook core_hook = {0}, registry_hook = {0};
        pw_core_add_listener(core, &core_hook, &core_events, &listing);
        struct pw_registry *registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
        pw_registry_add_listener(registry, &registry_hook, &registry_events, &listing);
        listing.sync = pw_core_sync(core, PW_ID_CORE, 0);
        struct spa_source *timer = pw_loop_add_timer(loop, on_timeout, &listing);
        struct timespec limit = {5, 0};
        pw_loop_update_timer(loop, timer, &limit, NULL, false);
        pw_main_loop_run(listing.loop);
        spa_hook_remove(&registry_hook);
        spa_hook_remove(&core_hook);
        pw_proxy_destroy((struct pw_proxy *)registry);
        pw_loop_destroy_source(loop, timer);
        pw_core_disconnect(core);
    }
    if (connection) pw_context_destroy(connection);
    pw_main_loop_destroy(listing.loop);
    return listing.result;
}
