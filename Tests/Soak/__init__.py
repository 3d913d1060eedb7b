# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak test of `scripts/soak`: a daemon on the simulated driver, load with faults, and checks of what is left."""
