# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of the C library whose process fails: the runs of `scripts/check-client-failover`."""
