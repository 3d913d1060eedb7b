// SPDX-License-Identifier: MIT
#include "decoder/decoder.h"
#include "effects/effects.h"
#include "encoder/encoder.h"

GST_DEBUG_CATEGORY(hwd_debug);

// The elements are always there; without a daemon they fail in READY with the reason. Their rank is none, so that players
// and encodebin use them on request only (GST_PLUGIN_FEATURE_RANK).
static gboolean init(GstPlugin *plugin) {
    GST_DEBUG_CATEGORY_INIT(hwd_debug, "hwdaemon", 0, "hwdaemon");
    return gst_element_register(plugin, "hwdh265enc", GST_RANK_NONE, hwd_encoder_get_type()) &&
           gst_element_register(plugin, "hwdh265dec", GST_RANK_NONE, hwd_decoder_get_type()) &&
           gst_element_register(plugin, "hwdeffects", GST_RANK_NONE, hwd_effect_filter_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, hwdaemon, "H.265 in sessions of the hwdaemon daemon", init, VERSION, "MIT/X11",
                  "hwdaemon", "hwdaemon")
