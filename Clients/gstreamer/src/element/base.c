// SPDX-License-Identifier: MIT
#include "element/base.h"

#include <string.h>

#include "element/daemon.h"

static GType hardware_type(void) {
    static GType type;
    static const GEnumValue values[] = {
        {HWD_HARDWARE_ALLOW, "Hardware where it is verified, otherwise software", "allow"},
        {HWD_HARDWARE_REQUIRE, "Hardware, or an error", "require"},
        {HWD_HARDWARE_AVOID, "Software", "avoid"},
        {0, NULL, NULL}};
    if (g_once_init_enter(&type)) g_once_init_leave(&type, g_enum_register_static("GstHwdHardware", values));
    return type;
}

void hwd_base_install(GObjectClass *class, const HwdPropertySpec *specs, const char *prefix) {
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
    g_object_class_install_property(
        class, HWD_PROPERTY_SOCKET,
        g_param_spec_string("socket", "Socket", "The daemon's socket: a path or @name. Unset: $HWDAEMON_SOCKET, then "
                            "/run/hwdaemon/hwdaemon.sock, then a daemon of this process alone", NULL, flags));
    g_object_class_install_property(
        class, HWD_PROPERTY_HARDWARE,
        g_param_spec_enum("hardware", "Hardware", "Whether hardware is used", hardware_type(), HWD_HARDWARE_ALLOW, flags));
    hwd_properties_install(class, HWD_PROPERTY_TABLE, specs, prefix);
    gst_type_mark_as_plugin_api(hardware_type(), 0);
}

void hwd_base_init(HwdBase *base, GstElement *element, GstPad *source_pad, const char *kind, const HwdPropertySpec *specs) {
    base->element = element;
    base->source_pad = source_pad;
    base->kind = kind;
    g_mutex_init(&base->lock);
    hwd_properties_init(&base->properties, G_OBJECT_GET_CLASS(element), specs);
}

void hwd_base_clear(HwdBase *base) {
    hwd_properties_clear(&base->properties);
    g_mutex_clear(&base->lock);
    g_free(base->socket);
    g_free(base->fallback);
}

void hwd_base_set_property(HwdBase *base, guint number, const GValue *value) {
    if (number >= HWD_PROPERTY_TABLE) return hwd_properties_set(&base->properties, number - HWD_PROPERTY_TABLE, value);
    GST_OBJECT_LOCK(base->element);
    if (number == HWD_PROPERTY_HARDWARE) {
        base->hardware = (HwdHardware)g_value_get_enum(value);
    } else if (number == HWD_PROPERTY_SOCKET) {
        g_free(base->socket);
        base->socket = g_value_dup_string(value);
    }
    GST_OBJECT_UNLOCK(base->element);
}

// What the session says; nothing without one.
static void read_back(HwdBase *base, const HwdPropertySpec *spec, GValue *value) {
    HwdStream *stream = hwd_base_stream(base);
    if (!stream) return;
    enum { TIMEOUT = 2000 };
    gchar *names = g_strdup_printf("[\"%s\"]", spec->key), *found = NULL;
    char *values;
    if (hwd_copy_properties(stream->session, names, TIMEOUT, &values) == 0) {
        found = hwd_json_find(values, spec->key);
        hwd_free(values);
    }
    if (found && G_VALUE_HOLDS_BOOLEAN(value)) g_value_set_boolean(value, strcmp(found, "true") == 0);
    else if (found && G_VALUE_HOLDS_INT(value)) g_value_set_int(value, atoi(found));
    else if (found && G_VALUE_HOLDS_INT64(value)) g_value_set_int64(value, g_ascii_strtoll(found, NULL, 10));
    else if (found && G_VALUE_HOLDS_STRING(value)) g_value_set_string(value, found);
    g_free(found);
    g_free(names);
    hwd_stream_unref(stream);
}

void hwd_base_get_property(HwdBase *base, guint number, GValue *value) {
    if (number >= HWD_PROPERTY_TABLE) {
        const HwdPropertySpec *spec = &base->properties.specs[number - HWD_PROPERTY_TABLE];
        hwd_properties_get(&base->properties, number - HWD_PROPERTY_TABLE, value);
        if (spec->access == HWD_READ_ONLY) read_back(base, spec, value);
        return;
    }
    GST_OBJECT_LOCK(base->element);
    if (number == HWD_PROPERTY_HARDWARE) g_value_set_enum(value, base->hardware);
    if (number == HWD_PROPERTY_SOCKET) g_value_set_string(value, base->socket);
    GST_OBJECT_UNLOCK(base->element);
}

gboolean hwd_base_start(HwdBase *base) {
    gchar *address = NULL;
    g_object_get(base->element, "socket", &address, NULL);
    base->flow = GST_FLOW_OK;
    base->has_failed = FALSE;
    hwd_base_resume(base);
    int result = hwd_shared_open(address, &base->daemon);
    g_free(address);
    if (result == 0) return TRUE;
    base->daemon = NULL;
    GST_ELEMENT_ERROR(base->element, RESOURCE, OPEN_READ_WRITE, ("%s", hwd_last_error()), ("hwd_open: %s", hwd_status_name(result)));
    return FALSE;
}

void hwd_base_stop(HwdBase *base) {
    hwd_base_close(base);
    if (base->daemon) hwd_shared_close(base->daemon);
    base->daemon = NULL;
    g_clear_pointer(&base->fallback, g_free);
}

gchar *hwd_base_specification(HwdBase *base) {
    GST_OBJECT_LOCK(base->element);
    HwdHardware hardware = base->hardware;
    GST_OBJECT_UNLOCK(base->element);
    if (hardware == HWD_HARDWARE_ALLOW) return NULL;
    gboolean requires = hardware == HWD_HARDWARE_REQUIRE;
    return g_strdup_printf("{\"%sHardwareAcceleratedVideo%s\":%s}", requires ? "Require" : "Enable", base->kind, requires ? "true" : "false");
}

HwdStream *hwd_base_stream(HwdBase *base) {
    g_mutex_lock(&base->lock);
    HwdStream *stream = base->stream ? hwd_stream_ref(base->stream) : NULL;
    g_mutex_unlock(&base->lock);
    return stream;
}

GstFlowReturn hwd_base_flow(HwdBase *base) {
    g_mutex_lock(&base->lock);
    GstFlowReturn flow = base->flow;
    g_mutex_unlock(&base->lock);
    return flow;
}
