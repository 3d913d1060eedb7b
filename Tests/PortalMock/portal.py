#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for xdg-desktop-portal's ScreenCast on the session bus, for scripts/check-capture-portal.

usage: portal.py NODE [WAY[=VALUE] ...]

Shares the node with PipeWire's id NODE, without a dialog, and prints each call. Ways to differ from that:

  cancel, fail    Start's response has code 1 or 2
  mute            no call has a reply
  unanswered      no request has a response
  late=S          Start's response comes after S seconds
  early           responses come before the replies
  close=S         the session is closed S seconds after PipeWire was opened
  die             the process ends when Start is called
  forge           another process answers Start before a person refuses
  types=N, cursors=N, version=N    the properties; version 3 has no tokens
  bare            no ScreenCast, as without a backend
  bad=WHAT        properties, session, path, handle, code, streams, empty, many or node: an answer that the interface does not have;
                  missing: a node that there is not; file, silence: no PipeWire; token, flood: more than is sensible
"""
import os
import socket
import sys

from gi.repository import Gio, GLib

NAME = "org.freedesktop.portal.Desktop"
ROOT = "/org/freedesktop/portal/desktop"
REQUEST = "org.freedesktop.portal.Request"
XML = """<node><interface name="org.freedesktop.portal.ScreenCast">
<method name="CreateSession"><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="SelectSources"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
<method name="Start"><arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
<arg type="o" direction="out"/></method>
<method name="OpenPipeWireRemote"><arg type="o" direction="in"/><arg type="a{sv}" direction="in"/><arg type="h" direction="out"/></method>
<property name="AvailableSourceTypes" type="u" access="read"/><property name="AvailableCursorModes" type="u" access="read"/>
<property name="version" type="u" access="read"/></interface>
<interface name="org.freedesktop.portal.Session"><method name="Close"/><signal name="Closed"><arg type="a{sv}"/></signal></interface>
<interface name="org.freedesktop.portal.Settings"><property name="version" type="u" access="read"/></interface></node>"""


def element(sender):
    """A connection's name as an element of a path."""
    return sender[1:].replace(".", "_")


class Portal:
    def __init__(self, node, ways):
        self.node = node
        self.ways = dict(way.partition("=")[::2] for way in ways)
        self.bad = self.ways.get("bad")
        self.sessions = {}
        self.tokens = set()
        xml = XML.replace('type="u"', 'type="s"') if self.bad == "properties" else XML
        self.interfaces = Gio.DBusNodeInfo.new_for_xml(xml).interfaces

    def acquired(self, connection, _):
        interface = self.interfaces[2 if "bare" in self.ways else 0]
        connection.register_object(ROOT, interface, self.call, self.property, None)

    def property(self, connection, sender, path, interface, name):
        if self.bad == "properties":
            return GLib.Variant("s", "3")
        names = {"AvailableSourceTypes": ("types", 3), "AvailableCursorModes": ("cursors", 7), "version": ("version", 4)}
        way, value = names[name]
        return GLib.Variant("u", int(self.ways.get(way, value)))

    def call(self, connection, sender, path, interface, method, parameters, invocation):
        arguments = parameters.unpack()
        print(method, arguments, flush=True)
        if "mute" in self.ways:
            return
        if method == "OpenPipeWireRemote":
            return self.open_remote(connection, arguments[0], invocation)
        if method == "Close":
            return invocation.return_value(None)
        if method == "Start" and "die" in self.ways:
            os._exit(0)
        options = arguments[-1]
        request = f"{ROOT}/request/{element(sender)}/{options['handle_token']}"
        code, results, seconds = getattr(self, method)(connection, sender, arguments)
        if method == "Start" and "forge" in self.ways:
            self.forge(sender, request)
        response = GLib.Variant("(ua{sv})", (code, results))
        if self.bad == "code":
            response = GLib.Variant("(sas)", ("0", []))

        def respond():
            connection.emit_signal(sender, request, REQUEST, "Response", response)
            return False

        if "early" in self.ways:
            respond()
        elif "unanswered" not in self.ways:
            GLib.timeout_add(int(1000 * seconds) + 20, respond)
        invocation.return_value(GLib.Variant("(o)", (request + "/other" if self.bad == "handle" else request,)))

    # Each returns the response's code, its results, and after how many seconds it comes.

    def CreateSession(self, connection, sender, arguments):
        path = f"{ROOT}/session/{element(sender)}/{arguments[0]['session_handle_token']}"
        self.sessions[path] = sender
        connection.register_object(path, self.interfaces[1], self.call, None, None)
        handle = GLib.Variant("s", path)
        if self.bad == "session":
            handle = GLib.Variant("u", 7)
        if self.bad == "path":
            handle = GLib.Variant("s", "no path")
        results = {"session_handle": handle}
        if self.bad == "flood":
            results |= {f"key {number}": GLib.Variant("v", GLib.Variant("as", ["x"] * 10)) for number in range(50_000)}
        return 0, results, 0

    def SelectSources(self, connection, sender, arguments):
        asked = arguments[1].get("restore_token")
        print("token", asked, "known" if asked in self.tokens else "unknown", flush=True)
        self.tokens.discard(asked)
        return 0, {}, 0

    def Start(self, connection, sender, arguments):
        if "forge" in self.ways:
            return 1, {}, 2
        if "cancel" in self.ways or "fail" in self.ways:
            return 1 if "cancel" in self.ways else 2, {}, 0
        properties = {"size": GLib.Variant("(ii)", (1280, 720)), "source_type": GLib.Variant("u", 1)}
        node = 0xFFFFFFFF if self.bad == "node" else 424242 if self.bad == "missing" else self.node
        streams = GLib.Variant("a(ua{sv})", [] if self.bad == "empty" else [(node, properties)])
        if self.bad == "streams":
            streams = GLib.Variant("a(sa{sv})", [(str(node), properties)])
        if self.bad == "many":
            streams = GLib.Variant("a(ua{sv})", [(node, {})] * 100_000)
        results = {"streams": streams}
        if int(self.ways.get("version", 4)) >= 4:
            token = "x" * (1 << 20) if self.bad == "token" else f"token-{element(sender)}"
            self.tokens.add(token)
            results["restore_token"] = GLib.Variant("s", token)
        return 0, results, float(self.ways.get("late", 0))

    def open_remote(self, connection, session, invocation):
        files = Gio.UnixFDList.new()
        if self.bad == "file":
            self.remote = open("/dev/null", "rb")
        elif self.bad == "silence":
            # The other end stays open.
            self.remote, self.silent = socket.socketpair()
        else:
            self.remote = socket.socket(socket.AF_UNIX)
            self.remote.connect(os.path.join(os.environ["XDG_RUNTIME_DIR"], "pipewire-0"))
        index = files.append(self.remote.fileno())
        self.remote.close()
        invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (index,)), files)

        def close():
            closed = GLib.Variant("(a{sv})", ({},))
            connection.emit_signal(self.sessions[session], session, "org.freedesktop.portal.Session", "Closed", closed)
            return False

        if "close" in self.ways:
            GLib.timeout_add(int(1000 * float(self.ways["close"])), close)

    def forge(self, sender, request):
        """Another connection to the bus, whose messages have another sender."""
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        other = Gio.DBusConnection.new_for_address_sync(os.environ["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
        streams = GLib.Variant("a(ua{sv})", [(self.node, {})])
        response = GLib.Variant("(ua{sv})", (0, {"streams": streams}))
        other.emit_signal(sender, request, REQUEST, "Response", response)
        other.flush_sync()


def main():
    portal = Portal(int(sys.argv[1]), sys.argv[2:])
    loop = GLib.MainLoop()
    Gio.bus_own_name(
        Gio.BusType.SESSION, NAME, Gio.BusNameOwnerFlags.NONE, portal.acquired,
        lambda connection, name: print("ready", flush=True), lambda connection, name: loop.quit())
    loop.run()


main()
