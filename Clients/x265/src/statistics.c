// SPDX-License-Identifier: GPL-2.0-or-later
#include "session.h"

void hardware_statistics(const hardware *encoder, x265_stats *statistics, uint32_t size) {
    if (size < sizeof *statistics) return;
    const x265_param *param = &encoder->param;
    memset(statistics, 0, sizeof *statistics);
    double rate = (double)param->fpsNum / param->fpsDenom;
    x265_sliceType_stats *types[] = {&statistics->statsI, &statistics->statsP, &statistics->statsB};
    for (int i = 0; i < 3; i++) {
        uint32_t pictures = encoder->types[i].pictures;
        statistics->accBits += encoder->types[i].bits;
        statistics->encodedPictureCount += pictures;
        types[i]->numPics = pictures;
        if (pictures) types[i]->bitrate = (double)encoder->types[i].bits * rate / pictures / 1000;
        if (param->rc.rateControlMode == X265_RC_CQP) types[i]->avgQp = param->rc.qp;
    }
    statistics->elapsedEncodeTime = seconds_now() - encoder->opened;
    statistics->elapsedVideoTime = statistics->encodedPictureCount / rate;
    if (statistics->encodedPictureCount) statistics->bitrate = (double)statistics->accBits / statistics->elapsedVideoTime / 1000;
    statistics->maxCLL = param->maxCLL;
    statistics->maxFALL = param->maxFALL;
}
