# SPDX-License-Identifier: GPL-2.0-or-later
# deps clients gstreamer debug demo test quick hook check soak bench lint fuzz install uninstall deb clean; see README.md.

SHELL := /bin/bash
PREFIX ?= /usr
DESTDIR ?=
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
# What installed programs are stripped with; STRIP=true keeps their symbols.
STRIP ?= strip
SHARE := $(DESTDIR)$(PREFIX)/share
LIB := $(DESTDIR)$(PREFIX)/lib
PROGRAMS := hwctl hwctl-media hwctl-play hwctl-capture hwdaemon hwdaemon-decoder hwdaemon-encoder hwdaemon-encoder-nv hwdaemon-probe \
    hwdaemon-transfer hwdaemon-verify

# Package.swift looks for these headers. SwiftPM caches what it evaluates to by its text and the environment, so that without this
# variable a package that is installed later is not seen. $(wildcard) would remember what it found before `deps`.
export HWDAEMON_HEADERS = $(shell ls /usr/include/wayland-client.h /usr/include/pipewire-0.3/pipewire/pipewire.h \
    /usr/include/systemd/sd-bus.h 2>/dev/null)

.PHONY: all clients gstreamer deps deps-build deps-packages debug demo test test-end-to-end test-modules quick hook check soak bench lint fuzz \
    install install-daemon install-clients uninstall deb clean release manual

all: release manual clients

# DEPS= for builds of packages, which have what they need.
DEPS ?= scripts/install-deps

deps:
	@$(DEPS)

# What building and the demo need.
deps-build:
	@$(if $(DEPS),$(DEPS) build)

# What making and checking Debian packages needs.
deps-packages:
	@$(if $(DEPS),$(DEPS) packages)

release: deps-build
	@echo "Building (release) ..."
	@mkdir -p .build
	@scripts/build-release $(PROGRAMS) >.build/release.log 2>&1 || { cat .build/release.log >&2; exit 1; }

# The C library, and the library that is preloaded into programs of libx265.
clients:
	@$(MAKE) --silent -C Clients/c
	@$(MAKE) --silent -C Clients/x265

# The GStreamer plugin; not part of `all`, because it needs GStreamer's development files.
gstreamer: clients
	@$(MAKE) --silent -C Clients/gstreamer

# Debug builds. SWIFT_FLAGS: further options; changing them compiles everything again.
BUILD_DEBUG = swift build --quiet $(SWIFT_FLAGS)

demo: deps-build
	@echo "Building (debug) ..."
	@$(BUILD_DEBUG)
	@scripts/demo

# A list of skips that are no failure, for machines that are known, such as CI's: SKIPS=scripts/allowed-skips.
RUN_TESTS = scripts/run-tests $(if $(SKIPS),--allowed-skips $(SKIPS))

# Suites and tests that run in `make check`: long ones, and those of the media set beside the repository.
LONG := (/Long|MediaSetTests)/|OfLarge(Clips|Files)|Cookbook/everyLine

# Tests of every position of a fault, for `make check PARTS=failover`.
EVERY := Failover/EveryPosition/

# All programs and tests, and the driver of the daemons that tests start.
debug: deps
	$(BUILD_DEBUG) --build-tests
	@$(MAKE) --silent -C Tests/HWSim OUT=$(CURDIR)/.build/debug/hwsim-for-daemons all

# What protects every change, in minutes. The end-to-end tests mostly wait, so they run beside the others.
test: debug
	@$(MAKE) --silent -j2 test-end-to-end test-modules
	@scripts/check-links
	@scripts/check-systemd
	@cd Benchmarks && PYTHONDONTWRITEBYTECODE=1 python3 -m doctest figures.py && PYTHONDONTWRITEBYTECODE=1 python3 figures.py

# Parts of `make test`, which builds what they run.
test-end-to-end:
	@$(RUN_TESTS) --name end-to-end -- --filter EndToEndTests --skip '$(LONG)|$(EVERY)'

test-modules:
	@$(RUN_TESTS) --name modules -- --skip 'EndToEndTests|$(LONG)'

# A change in about a minute: formats, and the unit tests of the changed modules and of those that import them.
quick: deps
	@scripts/quick $(if $(BASE),--base $(BASE))

# Runs `make quick` before each push of this clone; `git config --unset core.hooksPath` ends that.
hook:
	git config core.hooksPath scripts/hooks

# What takes longer, in parts: PARTS="python gstreamer" runs two of them, PARTS=list names them all.
check:
	@scripts/check $(PARTS)

include scripts/checks.mk

# Ten thousand short sessions with faults; half an hour of longer ones: scripts/soak --duration 1800. See docs/performance.md.
soak: release
	@scripts/soak .build/release

bench: release
	@scripts/bench

lint:
	swift format lint --strict --recursive Sources Tests Plugins Benchmarks/Sources Benchmarks/Package.swift Package.swift
	@scripts/check-sources
	@scripts/check-admin-guide --lines

fuzz:
	@scripts/fuzz

# Manual pages, and completions of shells.
manual: release
	@scripts/make-manual .build/manual
	@mkdir -p .build/completions
	@for shell in bash zsh fish; do \
	    .build/release/hwctl --generate-completion-script $$shell >.build/completions/hwctl.$$shell || exit 1; done
	@sed -i '1{/^#!/d}' .build/completions/hwctl.bash

# Copies only, so that it can be run as root: `make all`, then `sudo make install`.
install: install-daemon install-clients

install-daemon:
	@for file in $(addprefix .build/release/,$(PROGRAMS)) .build/manual/hwctl.1 .build/completions/hwctl.fish; do \
	    [ -e $$file ] || { echo "$$file is not built: run 'make all' first, not as root" >&2; exit 1; }; done
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hwdaemon $(LIB)/hwdaemon $(SHARE)/doc/hwdaemon/examples/monitoring \
	    $(SHARE)/hwdaemon $(SHARE)/man/man1 $(SHARE)/man/man8 $(SHARE)/bash-completion/completions $(DESTDIR)$(ZSHDIR) \
	    $(SHARE)/fish/vendor_completions.d $(DESTDIR)$(UNITDIR) $(LIB)/sysusers.d $(LIB)/tmpfiles.d $(DESTDIR)$(SYSCONFDIR)/hwdaemon
	install -m 755 -s --strip-program=$(STRIP) .build/release/hwctl $(DESTDIR)$(PREFIX)/bin/
	install -m 755 -s --strip-program=$(STRIP) $(addprefix .build/release/,$(filter-out hwctl,$(PROGRAMS))) \
	    $(DESTDIR)$(PREFIX)/libexec/hwdaemon/
	# The Swift runtime, which all programs share, and its names. The toolchain has no debugging symbols of it.
	install -m 644 -s .build/release/../lib/hwdaemon/libhwdaemon-swift.so $(LIB)/hwdaemon/
	cd .build/release/../lib/hwdaemon && find . -type l -exec cp -P {} $(abspath $(LIB))/hwdaemon/ \;
	install -m 644 capabilities.json presets.json $(SHARE)/hwdaemon/
	install -m 644 README.md LICENSE.md docs/*.md docs/*.schema.json $(SHARE)/doc/hwdaemon/
	install -m 644 examples/monitoring/hwdaemon-* examples/monitoring/hwdaemon.rules.yml \
	    $(SHARE)/doc/hwdaemon/examples/monitoring/
	install -m 644 .build/manual/*.1 $(SHARE)/man/man1/
	install -m 644 .build/manual/*.8 $(SHARE)/man/man8/
	install -m 644 .build/completions/hwctl.bash $(SHARE)/bash-completion/completions/hwctl
	install -m 644 .build/completions/hwctl.zsh $(DESTDIR)$(ZSHDIR)/_hwctl
	install -m 644 .build/completions/hwctl.fish $(SHARE)/fish/vendor_completions.d/
	install -m 644 systemd/hwdaemon.socket systemd/hwdaemon-nvidia.service $(DESTDIR)$(UNITDIR)/
	sed 's|/usr/libexec/|$(PREFIX)/libexec/|' systemd/hwdaemon.service >$(DESTDIR)$(UNITDIR)/hwdaemon.service
	install -m 644 systemd/hwdaemon.sysusers $(LIB)/sysusers.d/hwdaemon.conf
	install -m 644 systemd/hwdaemon.tmpfiles $(LIB)/tmpfiles.d/hwdaemon.conf
	# Keeps an existing configuration.
	[ -e $(DESTDIR)$(SYSCONFDIR)/hwdaemon/hwdaemon.conf ] || \
	    install -m 644 systemd/hwdaemon.conf $(DESTDIR)$(SYSCONFDIR)/hwdaemon/

install-clients:
	@$(MAKE) --silent -C Clients/c PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' STRIP='$(STRIP)' install
	@$(MAKE) --silent -C Clients/x265 PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' STRIP='$(STRIP)' install

# Removes what `make install` with the same variables installs; a configuration that was changed stays.
uninstall:
	@DESTDIR='$(DESTDIR)' scripts/uninstall PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' UNITDIR='$(UNITDIR)' ZSHDIR='$(ZSHDIR)'

# Debian packages in .build/deb, from the release build here; needs debhelper. See debian/ and docs/install.md.
deb:
	@scripts/make-deb .build/deb

clean:
	rm -rf .build .build-* demo.mov
