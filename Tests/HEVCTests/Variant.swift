// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDX265
import Foundation

@testable import HWDHEVC

/// Options of x265 that make a certain part of the syntax appear.
struct Variant: Sendable, CustomStringConvertible {
    let name: String
    var size = "416x240"
    var format = "yuv420p"
    let options: [String]
    /// Syntax elements (with the names that `Trace` normalizes) and values of which one must occur.
    var expected: [String: ClosedRange<Int>] = [:]

    var description: String { name }

    /// The argument of `--temporal-layers`, which is a switch in older releases.
    private static let layerCount = hwd_x265_two_levels() > 1 ? ["\(hwd_x265_two_levels())"] : []

    static let all: [Variant] = [
        Variant(name: "defaults", options: ["--bframes", "4"], expected: ["type": 0...0]),
        Variant(name: "slices", options: ["--slices", "3"], expected: ["first_slice_segment_in_pic_flag": 0...0]),
        Variant(name: "wavefronts", options: ["--wpp"], expected: ["num_entry_point_offsets": 1...100]),
        Variant(
            name: "weighted", options: ["--weightp", "--weightb", "--no-wpp"],
            expected: ["luma_weight_flag": 1...1, "weighted_bipred_flag": 1...1]),
        Variant(
            name: "five references", options: ["--ref", "5", "--bframes", "0"],
            expected: ["num_negative_pics": 4...5]),
        Variant(
            name: "default scaling list", options: ["--scaling-list", "default"],
            expected: ["scaling_list_enabled_flag": 1...1]),
        Variant(
            name: "HRD", options: ["--hrd", "--vbv-maxrate", "500", "--vbv-bufsize", "500", "--bitrate", "400"],
            expected: ["nal_hrd_parameters_present_flag": 1...1, "cpb_cnt_minus1": 0...0]),
        Variant(
            name: "delimiters, hashes, repeated headers",
            options: ["--aud", "--hash", "1", "--repeat-headers", "--keyint", "6", "--min-keyint", "6"]),
        Variant(
            name: "ten bits, HDR", format: "yuv420p10le",
            options: [
                "--output-depth", "10", "--colorprim", "bt2020", "--transfer", "smpte2084", "--colormatrix",
                "bt2020nc", "--max-cll", "1000,400", "--master-display",
                "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)", "--chromaloc", "2",
            ],
            expected: ["transfer_characteristics": 16...16, "chroma_sample_loc_type_top_field": 2...2]),
        Variant(
            name: "closed GOPs", options: ["--no-open-gop", "--keyint", "8", "--min-keyint", "8"],
            expected: ["no_output_of_prior_pics_flag": 0...1]),
        Variant(
            name: "open GOPs", options: ["--open-gop", "--keyint", "8", "--min-keyint", "8", "--bframes", "3"],
            expected: ["nal_unit_type": 21...21]),
        Variant(name: "interlaced", options: ["--interlace", "tff"], expected: ["field_seq_flag": 1...1]),
        Variant(name: "lossless", options: ["--lossless"], expected: ["transquant_bypass_enabled_flag": 1...1]),
        Variant(
            name: "transform skip", options: ["--tskip", "--rd", "3"],
            expected: ["transform_skip_enabled_flag": 1...1]),
        Variant(name: "odd size", size: "418x234", options: [], expected: ["conf_win_right_offset": 1...15]),
        Variant(
            name: "4:2:2", format: "yuv422p", options: ["--profile", "main422-10", "--output-depth", "10"],
            expected: ["chroma_format_idc": 2...2]),
        Variant(
            name: "4:4:4", format: "yuv444p", options: ["--profile", "main444-8"],
            expected: ["chroma_format_idc": 3...3]),
        Variant(
            name: "grey", format: "gray", options: ["--input-csp", "i400"], expected: ["chroma_format_idc": 0...0]),
        Variant(
            name: "temporal layers", options: ["--temporal-layers"] + layerCount + ["--b-adapt", "0"],
            expected: ["max_sub_layers_minus1": 1...6]),
        Variant(
            name: "aspect ratio, display window, deblocking",
            options: ["--sar", "12:11", "--display-window", "2,4,6,8", "--deblock", "-2:3", "--range", "full"],
            expected: ["def_disp_win_left_offset": 1...2, "tc_offset_div2": -6...6, "video_full_range_flag": 1...1]),
        Variant(
            name: "chroma QP, no loop filters",
            options: ["--cbqpoffs", "3", "--crqpoffs", "-3", "--no-deblock", "--no-sao"],
            expected: ["cb_qp_offset": 3...3, "deblocking_filter_disabled_flag": 1...1]),
        Variant(
            name: "small blocks", options: ["--ctu", "16", "--min-cu-size", "8", "--max-tu-size", "4", "--no-amp"],
            expected: ["log2_diff_max_min_luma_coding_block_size": 1...1]),
    ]

    /// The Annex B stream of 24 moving and fading frames.
    func encode(more: [String] = []) throws -> [UInt8] {
        let (source, result) = (Clips.scratch("y4m"), Clips.scratch("hevc"))
        defer { for file in [source, result] { try? FileManager.default.removeItem(at: file) } }
        _ = try Clips.run([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=25,fade=in:0:12", "-frames:v",
            "24", "-pix_fmt", format, "-strict", "-1", source.path,
        ])
        _ = try Clips.run(
            ["x265", "--preset", "ultrafast", "--no-progress", "--frame-threads", "1"]
                + options + more + ["--input", source.path, "-o", result.path])
        return [UInt8](try Data(contentsOf: result))
    }
}
