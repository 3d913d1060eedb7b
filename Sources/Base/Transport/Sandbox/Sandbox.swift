// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDWire

/// Confines the calling process: the system calls it may make (seccomp) and the files it may open (Landlock).
///
/// What is given up is given up for good; each step only adds to the last. See docs/admin.md for what a confined
/// process can reach.
public enum Sandbox {
    /// A mode other than `enforce`, in the environment of a process: the broker's, and a way to confine nothing at all.
    public static let variable = "HWDAEMON_SANDBOX"

    /// Forbids what no codec and no driver needs: other programs and processes, the network, the system's state.
    ///
    /// - Parameter stats: the page in which forbidden calls are recorded.
    public static func start(recordingIn stats: StatsPage) throws(SystemError) {
        try stats.recordForbiddenCalls()
        let mode = environment(variable).flatMap(SandboxRequest.Mode.init(rawValue:)) ?? .enforce
        guard mode != .off else { return }
        try install(CallTable.start(process: getpid()), onlyReports: mode == .report)
    }

    /// Applies a policy, and sets the variables by which drivers keep their caches in the request's folder.
    ///
    /// Landlock restricts the calling thread and those it starts, so no other thread may exist when the first policy is applied. Threads
    /// that a driver left behind keep its files when a second one narrows it; the system calls are narrowed for all threads.
    ///
    /// A kernel without Landlock restricts the system calls only.
    ///
    /// - Returns: the files of drivers that were found; none where files are not restricted, or the policy runs no driver.
    @discardableResult
    public static func apply(_ request: SandboxRequest) throws(SystemError) -> DriverFiles {
        if let cache = request.cache { DriverCacheVariables.set(cache) }
        guard request.mode != .off, !isSwitchedOff else { return DriverFiles() }
        let runsDriver = request.policy == .driver
        var drivers = DriverFiles()
        if request.mode == .enforce, missing == nil {
            if runsDriver {
                drivers = DriverFiles(environment: environment, granted: FileRules.ofDrivers + request.writable)
            }
            try restrictFiles(FileRules(request, drivers))
        }
        // Without Landlock nothing would say where.
        let changesFolders = runsDriver && !request.writable.isEmpty && missing == nil
        let table = CallTable.session(
            request.policy, changesFolders: changesFolders,
            runsCUDA: runsDriver && request.nodes.contains("/dev/nvidia-uvm"))
        try install(table, onlyReports: request.mode == .report)
        return drivers
    }

    /// Whether the environment says that processes are not confined, as those under a sanitizer must not be.
    public static var isSwitchedOff: Bool { environment(variable) == SandboxRequest.Mode.off.rawValue }

    /// What the kernel lacks for a sandbox; nil if it lacks nothing.
    public static var missing: String? {
        let version = chwd_landlock_version()
        return version < 0
            ? "this kernel has no Landlock (\(String(cString: chwd_error_text(-version)))): "
                + "files are not restricted, system calls are" : nil
    }

    private static func install(_ table: CallTable, onlyReports: Bool) throws(SystemError) {
        let program = FilterProgram(
            table, architecture: chwd_audit_architecture(), onlyReports: onlyReports
        ) { name in
            UInt32(exactly: chwd_call_number(name))
        }
        let instructions = program.instructions.map {
            chwd_instruction(
                code: $0.code, jump_true: $0.jumpTrue, jump_false: $0.jumpFalse, operand: $0.operand)
        }
        try syscall("seccomp") { chwd_install_filter(instructions, instructions.count) }
    }

    private static func restrictFiles(_ rules: FileRules) throws(SystemError) {
        let known = FileRules.Rights.known(to: Int(chwd_landlock_version()))
        let set = OwnedFD(
            try syscall("landlock_create_ruleset") {
                chwd_landlock_create(known.rawValue, FileRules.networkRights, FileRules.scopes)
            })
        let number = set.rawValue
        for row in rules.rows {
            let rights = row.rights.intersection(known)
            do throws(SystemError) {
                try syscall("landlock_add_rule", row.path) {
                    chwd_landlock_allow(number, row.path, rights.rawValue, FileRules.Rights.ofFiles.rawValue)
                }
            } catch {
                // A path that cannot be opened now is not needed, or not allowed anyway.
                guard [ENOENT, EACCES, ENOTDIR, ELOOP].contains(error.errno) else { throw error }
            }
        }
        try syscall("landlock_restrict_self") { chwd_landlock_restrict(number) }
    }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// The variables that set the folder and the size of drivers' caches.
private enum DriverCacheVariables {
    /// For Mesa, for NVIDIA's shaders, for CUDA, and for everything else, such as `PipelineCacheFile`.
    private static let folders = [
        "MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH", "CUDA_CACHE_PATH", "XDG_CACHE_HOME",
    ]
    /// 128 MiB each, in the form that each variable takes.
    private static let sizes = [
        "MESA_SHADER_CACHE_MAX_SIZE": "128M", "__GL_SHADER_DISK_CACHE_SIZE": "134217728",
        "CUDA_CACHE_MAXSIZE": "134217728",
    ]

    static func set(_ folder: String) {
        for name in folders { setenv(name, folder, 1) }
        for (name, size) in sizes { setenv(name, size, 1) }
    }
}
