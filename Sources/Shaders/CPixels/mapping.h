// SPDX-License-Identifier: GPL-2.0-or-later
// Maps Y'CbCr codes by the curves of a hwd_mapping; included by rows.h.

// The terms of an order of a regression; the fourth is not used.
enum { TERMS = 8, UNUSED = 3 };

/// y, u, v, yu, yv, uv, yuv of the codes as 0 … 1, followed by their squares and cubes as far as regressions need them.
INLINE void multiply_signal(const hwd_mapping *map, int orders, vf y, vf u, vf v, vf *terms) {
    y = within(y * map->scale), u = within(u * map->scale), v = within(v * map->scale);
    terms[0] = y, terms[1] = u, terms[2] = v, terms[UNUSED] = splat(0);
    terms[4] = y * u, terms[5] = y * v, terms[6] = u * v, terms[7] = terms[4] * v;
    for (int i = TERMS; i < orders * TERMS; i++) terms[i] = terms[i - TERMS] * terms[i % TERMS];
}

/// A component's value 0 … 1 by its curve.
INLINE vf map_component(const hwd_mapping *map, const hwd_mapping_curve *curve, vf code, const vf *terms) {
    code = at_most(at_least(code, splat(curve->first)), splat(curve->last));
    const vf x = code * map->scale;
    vf value = splat(0);
    for (int i = 0; i < (int)curve->count; i++) {
        const hwd_piece *piece = &curve->pieces[i];
        vf own = splat(piece->constant);
        if (piece->orders > 0) {
            const float *factors = piece->factors;
            for (int order = 0; order < (int)piece->orders; order++, factors += TERMS) {
                const vf *term = terms + order * TERMS;
                for (int k = 0; k < TERMS; k++)
                    if (k != UNUSED) own += factors[k] * term[k];
            }
        } else {
            own += x * (piece->factors[0] + x * piece->factors[1]);
        }
        value = i == 0 ? own : choose(code >= splat(piece->start), own, value);
    }
    return within(value);
}

/// The most orders of a mapping's regressions.
static int orders_of(const hwd_mapping *map) {
    int most = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < (int)map->curves[c].count; i++)
            if (map->curves[c].pieces[i].orders > (float)most) most = (int)map->curves[c].pieces[i].orders;
    return most;
}

INLINE void map_codes(const hwd_mapping *map, int orders, vf *y, vf *u, vf *v) {
    vf terms[HWD_MAPPING_ORDERS * TERMS];
    if (orders > 0) multiply_signal(map, orders, *y, *u, *v, terms);
    const vf codes[3] = {*y, *u, *v};
    *y = map_component(map, &map->curves[0], codes[0], terms);
    *u = map_component(map, &map->curves[1], codes[1], terms);
    *v = map_component(map, &map->curves[2], codes[2], terms);
}
