// SPDX-License-Identifier: GPL-2.0-or-later
// Objects by id. An id holds its kind, how often its slot was used, and the slot, so stale ones are found out.
#include <stdlib.h>
#include <string.h>

#include "driver/hwsim.h"

enum { SLOT_BITS = 16, GENERATION_BITS = 8 };

static VAGenericID id_of(enum object_kind kind, unsigned generation, unsigned slot) {
    return (VAGenericID)kind << (SLOT_BITS + GENERATION_BITS) | generation << SLOT_BITS | slot;
}

void *heap_add(struct heap *heap, enum object_kind kind, size_t size) {
    // Slots are taken in turn, so that an id comes back as late as possible.
    unsigned slot = heap->last, tried = 0;
    for (; tried < heap->capacity; tried++) {
        slot = slot + 1 < heap->capacity ? slot + 1 : 0;
        if (!heap->slots[slot]) break;
    }
    if (tried == heap->capacity) {
        unsigned capacity = heap->capacity ? heap->capacity * 2 : 64;
        if (capacity > 1u << SLOT_BITS) return NULL;
        struct object **slots = realloc(heap->slots, capacity * sizeof(*slots));
        if (!slots) return NULL;
        heap->slots = slots;
        uint8_t *generations = realloc(heap->generations, capacity);
        if (!generations) return NULL;
        heap->generations = generations;
        memset(slots + heap->capacity, 0, (capacity - heap->capacity) * sizeof(*slots));
        memset(generations + heap->capacity, 0, capacity - heap->capacity);
        slot = heap->capacity;
        heap->capacity = capacity;
    }
    struct object *object = calloc(1, size);
    if (!object) return NULL;
    object->kind = kind;
    object->id = id_of(kind, ++heap->generations[slot], slot);
    heap->slots[slot] = object;
    heap->last = slot;
    return object;
}

void *heap_find(const struct heap *heap, enum object_kind kind, VAGenericID id) {
    unsigned slot = id & ((1u << SLOT_BITS) - 1);
    if (slot >= heap->capacity || !heap->slots[slot]) return NULL;
    struct object *object = heap->slots[slot];
    return object->id == id && object->kind == kind ? object : NULL;
}

void heap_remove(struct heap *heap, void *pointer) {
    struct object *object = pointer;
    heap->slots[object->id & ((1u << SLOT_BITS) - 1)] = NULL;
    free(object);
}

void *heap_next(const struct heap *heap, enum object_kind kind, unsigned *place) {
    while (*place < heap->capacity) {
        struct object *object = heap->slots[(*place)++];
        if (object && object->kind == kind) return object;
    }
    return NULL;
}

void heap_free(struct heap *heap) {
    free(heap->slots);
    free(heap->generations);
    *heap = (struct heap){0};
}
