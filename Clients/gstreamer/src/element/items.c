// SPDX-License-Identifier: MIT
#include <string.h>

#include "element/stream.h"

static void copy_side_data(const hwd_event *event, HwdItem *item) {
    for (guint i = 0; i < event->side_data_count; i++) {
        const hwd_side_data *data = &event->side_data[i];
        if (data->kind == HWD_MASTERING_DISPLAY && data->size == sizeof item->display) {
            memcpy(item->display, data->bytes, data->size);
            item->has_display = TRUE;
        } else if (data->kind == HWD_CONTENT_LIGHT && data->size == sizeof item->light) {
            memcpy(item->light, data->bytes, data->size);
            item->has_light = TRUE;
        }
    }
}

HwdItem *hwd_item_new(const hwd_event *event) {
    HwdItem *item = g_new0(HwdItem, 1);
    item->event = *event;
    item->frame = HWD_NO_FRAME;
    item->reason = g_strdup(event->reason);
    copy_side_data(event, item);
    return item;
}

void hwd_item_free(HwdItem *item) {
    gst_clear_buffer(&item->buffer);
    g_free(item->reason);
    g_free(item);
}
