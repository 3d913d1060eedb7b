# SPDX-License-Identifier: MIT
"""Frames by display time, behind VideoOutput."""
