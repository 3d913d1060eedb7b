// SPDX-License-Identifier: MIT
#include "movie/movie.h"

#include <sys/file.h>
#include <unistd.h>

static int fail(const hwd_movie *movie, int failure, const char *what) {
    char reason[256];
    return hwdi_fail(failure, "%s %s: %s", movie->name, what, strerror_r(-failure, reason, sizeof reason));
}

int hwd_movie_create(const char *path, uint32_t flags, hwd_movie **movie) {
    if (!movie) return hwdi_fail(-EINVAL, "the movie is missing");
    *movie = NULL;
    if (!path || !*path) return hwdi_fail(-EINVAL, "the path is missing");
    const uint32_t both = HWD_MOVIE_QUICKTIME | HWD_MOVIE_MP4;
    if (flags & ~(HWD_MOVIE_REPLACE | both) || (flags & both) == both)
        return hwdi_fail(-EINVAL, "the flags 0x%x are not those of a movie", flags);
    hwd_movie *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return hwdi_fail(-ENOMEM, "a movie cannot be created: out of memory");
    }
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made->path);
        free(made);
        return hwdi_fail(-ENOMEM, "a movie cannot be created: out of memory");
    }
    made->owner = getpid();
    hwdi_printable(made->name, sizeof made->name, path, strlen(path));
    size_t length = strlen(path);
    bool is_mov = length >= 4 && strcasecmp(path + length - 4, ".mov") == 0;
    made->is_quicktime = flags & both ? (flags & HWD_MOVIE_QUICKTIME) != 0 : is_mov;
    int failure = hwdi_movie_open(made, flags & HWD_MOVIE_REPLACE);
    if (failure == 0) {
        *movie = made;
        return 0;
    }
    if (failure == -EBUSY)
        hwdi_fail(failure, "%s cannot be created: it is being recorded", made->name);
    else if (failure == -EINVAL)
        hwdi_fail(failure, "%s cannot be created: it is not a regular file", made->name);
    else
        fail(made, failure, "cannot be created");
    pthread_mutex_destroy(&made->lock);
    free(made->path);
    free(made);
    return failure;
}

static int check_owner(const hwd_movie *movie) {
    if (!movie) return hwdi_fail(-EINVAL, "the movie is missing");
    // A child writes at the same positions, and another thread of the parent may have had the lock during fork(2).
    return movie->owner == getpid() ? 0 : hwdi_fail(-EPERM, "the movie belongs to the process that created it");
}

static int enter(hwd_movie *movie) {
    int status = check_owner(movie);
    if (status == 0) pthread_mutex_lock(&movie->lock);
    return status;
}

// Why nothing can be written; 0.
static int check(const hwd_movie *movie) {
    if (movie->is_finished) return hwdi_fail(-EINVAL, "%s is finished", movie->name);
    return movie->failure ? fail(movie, movie->failure, "cannot be written") : 0;
}

static void free_track(movie_track *track) {
    text *const all[] = {
        &track->boxes, &track->entries, &track->sizes, &track->sync, &track->chunks, &track->durations.rows,
        &track->shifts.rows, &track->data, &track->waiting,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->bytes);
    memset(track, 0, sizeof *track);
}

// Takes a new track as the last one; frees one that has no memory.
static int add_track(hwd_movie *movie, movie_track *track, bool has_entry) {
    int status = check(movie);
    if (status == 0 && (movie->has_head || movie->is_waiting))
        status = hwdi_fail(-EBUSY, "a track is added before the first packet");
    if (status == 0 && movie->track_count == HWD_MOVIE_MAX_TRACKS)
        status = hwdi_fail(-EINVAL, "a movie has %d tracks at most", HWD_MOVIE_MAX_TRACKS);
    if (status == 0 && !has_entry) status = hwdi_fail(-ENOMEM, "a track cannot be added: out of memory");
    if (status < 0) {
        free_track(track);
        return status;
    }
    movie->tracks[movie->track_count] = *track;
    return movie->track_count++;
}

// Whether bytes are whole boxes, one after another; at most `most` of them.
static bool are_boxes(const uint8_t *bytes, size_t size, int most) {
    size_t offset = 0;
    for (; offset < size && most > 0; most--) {
        if (size - offset < 8) return false;
        const uint8_t *at = bytes + offset;
        size_t length = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
        if (length < 8 || length > size - offset) return false;
        offset += length;
    }
    return offset == size;
}

// NULL, or what is wrong with an hvcC record (ISO/IEC 14496-15 8.3.3.1).
static const char *record_fault(const uint8_t *record, size_t size) {
    if (!record || size < 23 || size > MAX_ENTRY || record[0] != 1) return "the format is no hvcC record";
    if ((record[21] & 3) != 3) return "the lengths of NAL units need 4 bytes";
    size_t offset = 23;
    for (int array = 0; array < record[22]; array++) {
        if (size - offset < 3) return "the hvcC record is cut off";
        unsigned count = (unsigned)record[offset + 1] << 8 | record[offset + 2];
        offset += 3;
        while (count-- > 0) {
            if (size - offset < 2) return "the hvcC record is cut off";
            size_t length = (size_t)record[offset] << 8 | record[offset + 1];
            if (length > size - offset - 2) return "the hvcC record is cut off";
            offset += 2 + length;
        }
    }
    return NULL;
}

int hwd_movie_add_video(hwd_movie *movie, const hwd_movie_video *video) {
    hwd_movie_video given;
    int status = hwdi_take(&given, sizeof given, video);
    if (status < 0) return status;
    const char *fault = record_fault(given.format, given.format_size);
    if (!fault && (given.time_scale == 0 || given.time_scale > INT32_MAX)) fault = "a track needs a time scale above 0";
    if (!fault && (given.width == 0 || given.width > UINT16_MAX || given.height == 0 || given.height > UINT16_MAX))
        fault = "a movie cannot hold pictures of that size";
    if (!fault && (given.rotation > 270 || given.rotation % 90 != 0)) fault = "a track is turned by 0, 90, 180 or 270 degrees";
    if (!fault && given.boxes_size > 0 && (!given.boxes || given.boxes_size > MAX_ENTRY || !are_boxes(given.boxes, given.boxes_size, 64)))
        fault = "the boxes of the sample entry are not whole";
    if (fault) return hwdi_fail(-EINVAL, "%s", fault);
    movie_track track = {
        .is_video = true, .time_scale = given.time_scale, .width = given.width, .height = given.height,
        .rotation = given.rotation, .color = given.color,
    };
    status = enter(movie);
    if (status < 0) return status;
    if (given.boxes_size > 0) hwdi_add_bytes(&track.boxes, given.boxes, given.boxes_size);
    bool has_entry = hwdi_add_video_entry(&track, movie->is_quicktime, given.format, given.format_size) == 0;
    status = add_track(movie, &track, has_entry && !track.boxes.failed);
    pthread_mutex_unlock(&movie->lock);
    return status;
}

int hwd_movie_add_sound(hwd_movie *movie, const hwd_movie_sound *sound) {
    hwd_movie_sound given;
    int status = hwdi_take(&given, sizeof given, sound);
    if (status < 0) return status;
    if (given.time_scale == 0 || given.time_scale > INT32_MAX) return hwdi_fail(-EINVAL, "a track needs a time scale above 0");
    if (given.reserved != 0) return hwdi_fail(-EINVAL, "what is reserved is 0");
    if (!given.entry || given.entry_size < 36 || given.entry_size > MAX_ENTRY || !are_boxes(given.entry, given.entry_size, 1))
        return hwdi_fail(-EINVAL, "a track of sound needs a whole sample entry");
    status = enter(movie);
    if (status < 0) return status;
    movie_track track = {.time_scale = given.time_scale, .entry_count = 1, .entry = 1};
    hwdi_add_bytes(&track.entries, given.entry, given.entry_size);
    track.ends[0] = track.entries.size;
    status = add_track(movie, &track, !track.entries.failed);
    pthread_mutex_unlock(&movie->lock);
    return status;
}

static movie_track *find_track(hwd_movie *movie, int number) {
    return number >= 0 && number < movie->track_count ? movie->tracks + number : NULL;
}

// Writes the first movie box once more, where its space is enough for the entries.
static int replace_head(hwd_movie *movie) {
    text bytes = {0};
    hwdi_open_movie_box(movie, &bytes);
    uint64_t space = movie->head_end - movie->head, left = space - bytes.size;
    int failure = bytes.failed ? -ENOMEM : bytes.size > space || (left > 0 && left < 8) ? -ENOSPC : 0;
    if (failure == 0 && left > 0) {
        size_t box = hwdi_open_box(&bytes, "free");
        while (bytes.size < space && !bytes.failed) hwdi_add_bytes(&bytes, "", 1);
        hwdi_close_box(&bytes, box);
    }
    if (failure == 0) failure = bytes.failed ? -ENOMEM : hwdi_movie_replace(movie, bytes.bytes, bytes.size, movie->head);
    free(bytes.bytes);
    return failure;
}

static int change_format(hwd_movie *movie, int number, const void *format, size_t format_size) {
    int status = check(movie);
    if (status < 0) return status;
    movie_track *track = find_track(movie, number);
    if (!track || !track->is_video) return hwdi_fail(-EINVAL, "the movie has no track %d of video", number);
    int failure = hwdi_write_fragment(movie, -1, 0);
    if (failure < 0) return fail(movie, failure, "cannot be written");
    uint32_t count = track->entry_count, entry = track->entry;
    size_t size = track->entries.size;
    failure = hwdi_add_video_entry(track, movie->is_quicktime, format, format_size);
    if (failure == -ENOSPC) return hwdi_fail(failure, "the format changes more than %d times", HWD_MOVIE_MAX_FORMATS);
    if (failure < 0) return fail(movie, failure, "cannot be written");
    if (!movie->has_head || track->entry_count == count) return 0;
    failure = replace_head(movie);
    if (failure == 0) return 0;
    track->entry_count = count;
    track->entry = entry;
    track->entries.size = size;
    return failure == -ENOSPC ? hwdi_fail(failure, "the format changes too often for the first movie box")
                              : fail(movie, failure, "cannot be written");
}

int hwd_movie_change_format(hwd_movie *movie, int track, const void *format, size_t format_size) {
    const char *fault = record_fault(format, format_size);
    if (fault) return hwdi_fail(-EINVAL, "%s", fault);
    int status = enter(movie);
    if (status < 0) return status;
    status = change_format(movie, track, format, format_size);
    pthread_mutex_unlock(&movie->lock);
    return status;
}

// Whether a packet's times can be in a movie, behind the packet before it.
static const char *time_fault(const hwd_movie *movie, const movie_track *track, const hwd_movie_packet *packet) {
    if (packet->pts < -MOVIE_TIME_BOUND || packet->pts > MOVIE_TIME_BOUND || packet->dts < -MOVIE_TIME_BOUND ||
        packet->dts > MOVIE_TIME_BOUND || packet->duration < 0 || packet->duration >= UINT32_MAX ||
        packet->pts < packet->dts || packet->pts - packet->dts >= UINT32_MAX)
        return "a packet has times that a movie cannot hold, or is decoded after it is shown";
    const waiting_packet *waiting = (const waiting_packet *)(const void *)track->waiting.bytes;
    size_t count = track->waiting.size / sizeof *waiting;
    int64_t last = count > 0 ? waiting[count - 1].dts : track->last;
    if ((count > 0 || track->count > 0) && (packet->dts < last || packet->dts - last >= UINT32_MAX))
        return "a packet is decoded before the one written before it, or much later";
    if (movie->has_head && packet->dts < track->begin_decode)
        return "a track that begins after the first fragment cannot begin before 0";
    return NULL;
}

// Whether a file may have as much as its readers take, once what waits and one packet more are written, perhaps as two fragments.
static bool is_full(const hwd_movie *movie) {
    uint32_t tracks = (uint32_t)movie->track_count;
    // A `moof` and its `mfhd` have 24 bytes, a `traf` 68, and a row of its `trun` 16.
    uint64_t boxes = 2 * (24 + 68 * (uint64_t)tracks) + 16 * ((uint64_t)movie->waiting_count + 1);
    return movie->samples >= MAX_SAMPLES || movie->sequence + 2 > MAX_FRAGMENTS || movie->runs + 2 * tracks > MAX_RUNS ||
        movie->boxes + boxes > MAX_FRAGMENT_BOXES;
}

static int append(hwd_movie *movie, int number, const hwd_movie_packet *packet) {
    int status = check(movie);
    if (status < 0) return status;
    movie_track *track = find_track(movie, number);
    if (!track) return hwdi_fail(-EINVAL, "the movie has no track %d", number);
    if (!packet->data || packet->data_size == 0 || packet->data_size > MAX_MOVIE_PACKET)
        return hwdi_fail(-EINVAL, "a packet of %zu bytes cannot be written", packet->data_size);
    const char *fault = time_fault(movie, track, packet);
    int kind = track->is_video ? hwdi_picture_kind(packet->data, packet->data_size) : 0;
    if (!fault && kind < 0) fault = "a packet has no HEVC picture in NAL units behind lengths of 4 bytes";
    if (fault) return hwdi_fail(-EINVAL, "%s", fault);
    if (is_full(movie)) {
        int failure = hwdi_write_fragment(movie, -1, 0);
        if (failure < 0) return fail(movie, failure, "cannot be written");
        movie->failure = -EFBIG;
        return fail(movie, -EFBIG, "has as many packets as its readers take");
    }
    const waiting_packet *waiting = (const waiting_packet *)(const void *)track->waiting.bytes;
    // Each track's own length counts, because the tracks' packets may come out of step. Half a second.
    bool is_long = track->waiting.size > 0 && (packet->dts - waiting[0].dts) * 2 >= track->time_scale;
    if (is_long || movie->waiting_size + packet->data_size > MAX_FRAGMENT) {
        int failure = hwdi_write_fragment(movie, number, packet->dts);
        if (failure < 0) return fail(movie, failure, "cannot be written");
    }
    waiting_packet added = {packet->pts, packet->dts, (uint32_t)packet->data_size, (uint32_t)packet->duration, kind == 1};
    hwdi_add_bytes(&track->data, packet->data, packet->data_size);
    hwdi_add_bytes(&track->waiting, (const char *)&added, sizeof added);
    if (track->data.failed || track->waiting.failed) {
        movie->failure = -ENOMEM;
        return fail(movie, -ENOMEM, "cannot be written");
    }
    movie->is_waiting = true;
    movie->waiting_size += packet->data_size;
    movie->samples++;
    movie->waiting_count++;
    return 0;
}

int hwd_movie_append(hwd_movie *movie, int track, const hwd_movie_packet *packet) {
    hwd_movie_packet given;
    int status = hwdi_take(&given, sizeof given, packet);
    if (status == 0) status = enter(movie);
    if (status < 0) return status;
    status = append(movie, track, &given);
    pthread_mutex_unlock(&movie->lock);
    return status;
}

int hwd_movie_flush(hwd_movie *movie) {
    int status = enter(movie);
    if (status < 0) return status;
    status = check(movie);
    if (status == 0) {
        status = hwdi_write_fragment(movie, -1, 0);
        if (status < 0) fail(movie, status, "cannot be written");
    }
    pthread_mutex_unlock(&movie->lock);
    return status;
}

int hwd_movie_sync(hwd_movie *movie) {
    int status = check_owner(movie);
    if (status < 0) return status;
    // Without the lock: the descriptors stay until hwd_movie_close.
    status = hwdi_movie_sync(movie);
    return status < 0 ? fail(movie, status, "cannot be flushed to the disk") : 0;
}

// Appends the movie box, and makes media data of all from the first one on.
static int finish(hwd_movie *movie) {
    uint64_t size = movie->position - movie->head;
    text bytes = {0};
    hwdi_finished_movie_box(movie, &bytes);
    int failure = hwdi_movie_write(movie, &bytes, 0);
    free(bytes.bytes);
    if (failure == 0) failure = hwdi_movie_sync(movie);
    if (failure < 0) return failure;
    text head = {0};
    hwdi_put32(&head, 1);
    hwdi_add(&head, "mdat");
    hwdi_put64(&head, size);
    failure = head.failed ? -ENOMEM : hwdi_movie_replace(movie, head.bytes, head.size, movie->head);
    free(head.bytes);
    return failure < 0 ? failure : hwdi_movie_sync(movie);
}

int hwd_movie_finish(hwd_movie *movie) {
    int status = enter(movie);
    if (status < 0) return status;
    status = movie->is_finished ? hwdi_fail(-EINVAL, "%s is finished", movie->name) : 0;
    if (status == 0) {
        int last = movie->failure ? 0 : hwdi_write_fragment(movie, -1, 0);
        movie->is_finished = true;
        if (!movie->has_head) {
            // Before others may lock a file of that name.
            hwdi_movie_remove(movie);
            status = last < 0 ? last : movie->failure;
            status = status < 0 ? fail(movie, status, "cannot be written") : hwdi_fail(-ENODATA, "a movie needs a packet");
        } else {
            status = finish(movie);
            // Blocks that were kept behind the end are others' now.
            int trimmed = ftruncate(movie->fd, (off_t)movie->position);
            if (status == 0 && trimmed == 0) status = last;
            if (status < 0) fail(movie, status, "cannot be finished");
        }
        flock(movie->fd, LOCK_UN);
    }
    pthread_mutex_unlock(&movie->lock);
    return status;
}

void hwd_movie_close(hwd_movie *movie) {
    if (!movie) return;
    if (movie->owner == getpid() && !movie->is_finished) {
        if (movie->position == 0)
            hwdi_movie_remove(movie);
        else
            (void)!ftruncate(movie->fd, (off_t)movie->position); // blocks that were kept behind the end
    }
    hwdi_close(movie->fd);
    hwdi_close(movie->folder);
    for (int i = 0; i < movie->track_count; i++) free_track(movie->tracks + i);
    pthread_mutex_destroy(&movie->lock);
    free(movie->path);
    free(movie);
}
