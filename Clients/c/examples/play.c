/* SPDX-License-Identifier: MIT */
/*
 * Shows the frames of a movie as a display of 60 Hz asks for them: half floats in linear light of Display P3. libavformat demuxes.
 *
 *     cc play.c $(pkg-config --cflags --libs hwdaemon libavformat libavcodec libavutil) -o hwd-play
 *     ./hwd-play in.mov
 */
#include <hwdaemon-output.h>
#include <libavformat/avformat.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct movie { AVFormatContext *file; AVPacket *packet; int stream; } movie;

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "%s: %s (%s)\n", what, hwd_last_error(), hwd_status_name(result));
    exit(1);
}

static int next_packet(void *context, hwd_output_packet *to) {
    movie *from = context;
    int result;
    do {
        av_packet_unref(from->packet);
        result = av_read_frame(from->file, from->packet);
        if (result == AVERROR_EOF) return 0;
    } while (result >= 0 && from->packet->stream_index != from->stream);
    to->data = from->packet->data, to->data_size = (size_t)from->packet->size;
    to->pts = from->packet->pts, to->duration = from->packet->duration;
    to->flags = (from->packet->flags & AV_PKT_FLAG_KEY ? HWD_OUTPUT_KEY : 0) | (from->packet->flags & AV_PKT_FLAG_DISCARD ? HWD_OUTPUT_HIDDEN : 0);
    return result < 0 ? result : 1;
}

static int seek(void *context, int64_t pts) {
    movie *of = context;
    int result = av_seek_frame(of->file, of->stream, pts, AVSEEK_FLAG_BACKWARD);
    return result < 0 ? av_seek_frame(of->file, of->stream, 0, AVSEEK_FLAG_BACKWARD) : result;
}

int main(int argc, char **argv) {
    movie from = {NULL, av_packet_alloc(), -1};
    if (argc != 2 || avformat_open_input(&from.file, argv[1], NULL, NULL) < 0 || avformat_find_stream_info(from.file, NULL) < 0 ||
        (from.stream = av_find_best_stream(from.file, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0)) < 0) {
        fprintf(stderr, "usage: %s MOVIE, with video\n", argv[0]);
        return 64;
    }
    AVStream *stream = from.file->streams[from.stream];
    hwd_output_config config;
    HWD_INIT(config);
    config.source.context = &from, config.source.next = next_packet, config.source.seek = seek;
    config.source.time_base.numerator = stream->time_base.num, config.source.time_base.denominator = stream->time_base.den;
    config.source.start = stream->start_time == AV_NOPTS_VALUE ? 0 : stream->start_time;
    config.source.format = stream->codecpar->extradata, config.source.format_size = (size_t)stream->codecpar->extradata_size;
    config.target.pixel_format = HWD_AB4H, config.target.primaries = "p3";
    hwd_daemon *daemon;
    hwd_video_output *output;
    check(hwd_open(NULL, HWD_OPEN_PRIVATE, &daemon), "hwd_open");
    check(hwd_output_open(daemon, &config, &output), "hwd_output_open");
    check(hwd_output_play(output, 1, 0), "hwd_output_play");
    int result = 0;
    for (int64_t refresh = 0; refresh < 600 && result != HWD_OUTPUT_AFTER_END; refresh++) {
        hwd_output_frame frame;
        HWD_INIT(frame);
        /* An app with a display passes the time at which the refresh is seen, and does not wait. */
        result = hwd_output_copy_frame(output, refresh * 1000000000 / 60, 10000, &frame);
        check(result, "the output");
        if (result != HWD_OUTPUT_FRAME) continue;
        printf("refresh %lld: %lld ns, %u wide\n", (long long)refresh, (long long)frame.display_time, frame.width);
        check(hwd_output_release(output, &frame), "hwd_output_release");
    }
    hwd_output_close(output);
    hwd_close(daemon);
    av_packet_free(&from.packet);
    avformat_close_input(&from.file);
    return 0;
}
