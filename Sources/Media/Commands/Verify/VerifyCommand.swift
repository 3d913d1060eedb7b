// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDModel

/// `hwctl verify`.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare an encoded file with its source: what was kept, changed or lost.",
        discussion: """
            EXAMPLES
              hwctl verify talk.mp4 talk.mov
              hwctl verify --asked audio,metadata talk.mp4 silent.mp4
              hwctl verify --asked hdr=sdr --explain clip.mov clip-sdr.mov
              hwctl verify --explain

            OUTPUT is compared with INPUT, the file that it was made from, by whatever program. Each line of the receipt \
            is one thing that INPUT holds, and what became of it: kept, changed (in another form that shows the same, or \
            was asked for) or lost (missing or wrong). Pictures are decoded and compared in pairs by their presentation \
            times; PSNR and SSIM are given for each component. A picture that is dropped, doubled, displaced or replaced \
            is found by comparing it with its neighbors. Audio and subtitle packets are compared byte for byte.

            A loss is expected where it was asked for (--asked), where OUTPUT holds only pictures (.hevc, .y4m), and for \
            streams that hwctl never copies, such as data and attachments; the line then says so. The exit status is 1 if \
            something else was lost.

            --asked takes the names of the lines, separated by commas, and hdr=preserve, regenerate, drop, sdr, pq or \
            hlg, retag, max-level=0…6, alpha-mode=premultiplied, crop, rotate, start, duration and end as in hwctl encode. \
            With the last five that part of INPUT is compared, turned; with key-frame from the last key frame before it on, \
            as a copy without --exact begins. Where hdr=sdr, pq and hlg or, without \
            retag, color changed the colors, and with size, the samples differ, so that only the order of the pictures is \
            compared. The same holds for pictures of another color than the first, which hwctl encode converts to it.

            hwctl encode --verify does the same with what it wrote, and knows its own options.
            """)

    @Argument(help: "The source.")
    var input: String?

    @Argument(help: "The file that was made from it.")
    var output: String?

    @Option(help: ArgumentHelp("What may differ, such as size,hdr=sdr.", valueName: "list"))
    var asked = ""

    @Option(
        help: ArgumentHelp(
            "Frames per second of an INPUT that stores no rate: pictures and raw streams.", valueName: "rate"))
    var frameRate: String?

    @Flag(
        help: """
            Add what each line compares, and the times and values of single differences. Without files: list everything \
            that a file can hold, and what is done with it for each format.
            """)
    var explain = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        try OptionCheck.rate("--frame-rate", frameRate)
        guard output != nil || input == nil && explain else {
            throw ValidationError(input == nil ? "INPUT and OUTPUT are missing." : "OUTPUT is missing.")
        }
    }

    func run() throws {
        guard let input, let output else {
            return try report {
                if json { try Console.json(ContentTable()) } else { try Console.result(ContentTable.text) }
            }
        }
        try report {
            var changes = try AskedChanges(text: asked)
            changes.frameRate = frameRate.flatMap { Rational(text: $0) }
            // Before any other thread starts: threads inherit the blocked signals.
            let interruption = try Interruption()
            let receipt = try VerifyJob(input: input, output: output, asked: changes)
                .run(interruption, daemon: SessionRequest.findDaemon)
            let text = ReceiptReport(receipt: receipt)
            if json { try Console.json(receipt) } else { try Console.result(text.text(explains: explain)) }
            if let failure = text.failure { throw failure }
        }
    }
}
