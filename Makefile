# SPDX-License-Identifier: GPL-2.0-or-later
# deps demo test bench lint fuzz install clean; see README.md.

SHELL := /bin/bash
RELEASE := swift build -c release --static-swift-stdlib --quiet
PREFIX ?= /usr
DESTDIR ?=
PROGRAMS := hwctl hwdaemon hwdaemon-encoder hwdaemon-probe hwdaemon-verify

.PHONY: all deps demo test bench lint fuzz install clean release

all: release

deps:
	@scripts/install-deps

release: deps
	@echo "Building (release) ..."
	@for program in $(PROGRAMS); do $(RELEASE) --product $$program || exit 1; done

demo: release
	@scripts/demo

test: deps
	swift build --build-tests --quiet
	swift test --skip-build --quiet
	@scripts/check-links

bench: release
	@scripts/bench

lint:
	swift format lint --strict --recursive Sources Tests Plugins Benchmarks/Sources Benchmarks/Package.swift Package.swift
	@scripts/check-sources

fuzz:
	@scripts/fuzz

install: release
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hwdaemon $(DESTDIR)$(PREFIX)/share/doc/hwdaemon \
	    $(DESTDIR)$(PREFIX)/share/hwdaemon
	install -m 755 .build/release/hwctl $(DESTDIR)$(PREFIX)/bin/
	install -m 755 .build/release/hwdaemon .build/release/hwdaemon-encoder .build/release/hwdaemon-probe \
	    .build/release/hwdaemon-verify $(DESTDIR)$(PREFIX)/libexec/hwdaemon/
	install -m 644 capabilities.json $(DESTDIR)$(PREFIX)/share/hwdaemon/
	install -m 644 README.md LICENSE.md docs/*.md docs/capabilities.schema.json $(DESTDIR)$(PREFIX)/share/doc/hwdaemon/

clean:
	rm -rf .build .build-* demo.mov
