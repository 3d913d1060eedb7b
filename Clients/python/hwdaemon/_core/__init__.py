# SPDX-License-Identifier: MIT
"""The protocol, without a choice of how to wait; `hwdaemon` waits with poll(2), `hwdaemon.aio` with asyncio."""
