// SPDX-License-Identifier: GPL-2.0-or-later

/// The long part of `hwdaemon --help`, from which the manual page is made.
enum HelpText {
    static let discussion = """
        hwdaemon manages the video codecs of a machine. Applications create sessions over one socket, in Varlink \
        (interface org.hwdaemon, which 'varlinkctl introspect' prints), and each session is served by a process of \
        its own. It runs in the foreground and logs to standard error.

        ENVIRONMENT
          HWDAEMON_SOCKET   the socket's path, if --socket is not given
          HWDAEMON_DEVICES  device nodes to use instead of every
                            /dev/dri/renderD* and /dev/nvidia0 to 7,
                            separated by colons
          HWDAEMON_CAPABILITIES
                            a catalogue of codec paths and driver quirks to
                            use instead of the installed one
          HWDAEMON_CAPABILITIES_DIR
                            overrides of the catalogue, instead of those in
                            /etc/hwdaemon/capabilities.d
          HWDAEMON_INSTRUCTIONS
                            "AVX2" or "baseline": the latest instructions
                            that conversions on the CPU use; other values
                            are ignored
          STATE_DIRECTORY   where to store what was verified; by default
                            /var/lib/hwdaemon if it exists
          LISTEN_FDS, LISTEN_PID
                            set by systemd: listen on the socket it created,
                            unless an option names another
          NOTIFY_SOCKET, WATCHDOG_USEC
                            set by systemd: send it status and watchdog
                            notifications
          Workers inherit the environment (LIBVA_DRIVER_NAME and the like).

        FILES
          /run/hwdaemon/hwdaemon.sock
                            the socket, for its owner and group (mode 0660)
          /etc/hwdaemon/hwdaemon.conf, then /etc/hwdaemon/*.conf by name
                            the configuration; later lines override earlier
                            ones, and options such as --set override all; a
                            private daemon reads none
          ../share/hwdaemon/capabilities.json
                            the catalogue; a copy is built in
          /etc/hwdaemon/capabilities.d/*.json
                            overrides, matched by id; later files override
                            earlier ones

        CONFIGURATION
          Lines of Key=Value. Lines that start with # or ; are comments, and an
          empty value selects the default. The keys with their defaults:

        \(SettingsTable.manual)

        SIGNALS
          SIGTERM, SIGINT   stop: no new sessions; running ones may finish
                            within DrainTimeout, are then asked to end and
                            killed after 5 seconds; the exit status is 0. A
                            second signal skips the first wait, a third kills
                            the sessions
          SIGHUP            reload the configuration, which applies to new
                            sessions, and probe the devices again
          SIGUSR2           upgrade: start the program again, which takes the
                            socket over; running sessions finish in this
                            process, which then ends. If the new one does not
                            start, this one continues

        EXIT STATUS
          0                 stopped by a signal
          64                the command line is wrong
          69                another daemon uses the socket
          70                a system call failed
          77                the socket cannot be created for lack of
                            permission
          78                the configuration is wrong; every wrong line is
                            logged
        """
}
