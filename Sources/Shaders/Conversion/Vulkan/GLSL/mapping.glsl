// SPDX-License-Identifier: GPL-2.0-or-later
// A nonlinear mapping of Y'CbCr codes: SignalMapping.map in fp32, with `SignalMapping.table` in P.mapping by vectors of four.

const int PIECE = 7, CURVE = 1 + 8 * PIECE, LIGHT = 3 * CURVE;

// Every piece is evaluated for every pixel, because uniform indices that differ between pixels are slower to fetch.
float mapCurve(int component, float code, float top, vec3 signal, vec4 products) {
    int curve = component * CURVE;
    code = clamp(code, P.mapping[curve].y, P.mapping[curve].z);
    float x = code / top, value = 0.0;
    int count = int(P.mapping[curve].x);
    for (int i = 0; i < count; i++) {
        int piece = curve + 1 + i * PIECE;
        vec4 head = P.mapping[piece];
        float own = head.z;
        int orders = int(head.y);
        if (orders == 0) own += x * (P.mapping[piece + 1].x + x * P.mapping[piece + 1].y);
        vec3 a = signal;
        vec4 b = products;
        for (int order = 0; order < orders; order++) {
            own += dot(P.mapping[piece + 1 + 2 * order].xyz, a) + dot(P.mapping[piece + 2 + 2 * order], b);
            a *= signal;
            b *= products;
        }
        if (i == 0 || code >= head.x) value = own;
    }
    return clamp(value, 0.0, 1.0);
}

// The mapped values 0…1 of a pixel's codes.
vec3 mapped(vec3 codes) {
    float top = SOURCE == P010 || SOURCE == I010 ? 1023.0 : 255.0;
    vec3 signal = clamp(codes / top, 0.0, 1.0);
    vec4 products = vec4(signal.x * signal.yz, signal.y * signal.z, signal.x * signal.y * signal.z);
    return vec3(
        mapCurve(0, codes.x, top, signal, products), mapCurve(1, codes.y, top, signal, products),
        mapCurve(2, codes.z, top, signal, products));
}

// Light of the mapping's R'G'B' or L'M'S' as light of BT.2020.
vec3 mappedLight(vec3 c) {
    return vec3(dot(P.mapping[LIGHT].xyz, c), dot(P.mapping[LIGHT + 1].xyz, c), dot(P.mapping[LIGHT + 2].xyz, c));
}
