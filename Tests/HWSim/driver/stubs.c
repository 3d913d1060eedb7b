// SPDX-License-Identifier: GPL-2.0-or-later
// Subpictures, palettes and display attributes: libva wants the calls, nobody uses them.
#include "driver/hwsim.h"

static VAStatus set_palette(VADriverContextP context, VAImageID image, unsigned char *palette) {
    (void)context, (void)image, (void)palette;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus subpicture_formats(VADriverContextP context, VAImageFormat *list, unsigned *flags, unsigned *count) {
    (void)context, (void)list, (void)flags;
    *count = 0;
    return VA_STATUS_SUCCESS;
}

static VAStatus create_subpicture(VADriverContextP context, VAImageID image, VASubpictureID *subpicture) {
    (void)context, (void)image, (void)subpicture;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

static VAStatus destroy_subpicture(VADriverContextP context, VASubpictureID subpicture) {
    (void)context, (void)subpicture;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus set_subpicture_image(VADriverContextP context, VASubpictureID subpicture, VAImageID image) {
    (void)context, (void)subpicture, (void)image;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus set_chromakey(VADriverContextP context, VASubpictureID subpicture, unsigned low, unsigned high,
    unsigned mask) {
    (void)context, (void)subpicture, (void)low, (void)high, (void)mask;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus set_alpha(VADriverContextP context, VASubpictureID subpicture, float alpha) {
    (void)context, (void)subpicture, (void)alpha;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus associate(VADriverContextP context, VASubpictureID subpicture, VASurfaceID *surfaces, int count,
    short x, short y, unsigned short width, unsigned short height, short to_x, short to_y, unsigned short to_width,
    unsigned short to_height, unsigned flags) {
    (void)context, (void)subpicture, (void)surfaces, (void)count, (void)x, (void)y, (void)width, (void)height;
    (void)to_x, (void)to_y, (void)to_width, (void)to_height, (void)flags;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus deassociate(VADriverContextP context, VASubpictureID subpicture, VASurfaceID *surfaces, int count) {
    (void)context, (void)subpicture, (void)surfaces, (void)count;
    return VA_STATUS_ERROR_INVALID_SUBPICTURE;
}

static VAStatus query_display(VADriverContextP context, VADisplayAttribute *list, int *count) {
    (void)context, (void)list;
    *count = 0;
    return VA_STATUS_SUCCESS;
}

static VAStatus display_attributes(VADriverContextP context, VADisplayAttribute *list, int count) {
    (void)context, (void)list, (void)count;
    return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
}

void stubs_install(struct VADriverVTable *table) {
    table->vaSetImagePalette = set_palette;
    table->vaQuerySubpictureFormats = subpicture_formats;
    table->vaCreateSubpicture = create_subpicture;
    table->vaDestroySubpicture = destroy_subpicture;
    table->vaSetSubpictureImage = set_subpicture_image;
    table->vaSetSubpictureChromakey = set_chromakey;
    table->vaSetSubpictureGlobalAlpha = set_alpha;
    table->vaAssociateSubpicture = associate;
    table->vaDeassociateSubpicture = deassociate;
    table->vaQueryDisplayAttributes = query_display;
    table->vaGetDisplayAttributes = display_attributes;
    table->vaSetDisplayAttributes = display_attributes;
}
