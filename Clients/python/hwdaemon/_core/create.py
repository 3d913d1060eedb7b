# SPDX-License-Identifier: MIT
"""The parameters of the Create calls."""
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from ..errors import refused
from ..formats import fourcc

TimeBase = Union[Fraction, Tuple[int, int]]
Properties = Optional[Mapping[str, Any]]

MAX_TIME_BASE = (1 << 31) - 1
#: Milliseconds for which a call may wait for a slot.
MAX_WAIT = 3_600_000
#: The longest table of effects, in bytes.
MAX_TABLE = 64 << 20


def _time_base(value: TimeBase) -> Dict[str, int]:
    if isinstance(value, Fraction):
        value = (value.numerator, value.denominator)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"the time base is {value!r}, not a Fraction or two numbers such as (1, 30)")
    numerator, denominator = map(int, value)
    if not (1 <= numerator <= MAX_TIME_BASE and 1 <= denominator <= MAX_TIME_BASE):
        raise refused(f"the time base {numerator}/{denominator} is not a fraction of two numbers from 1 to {MAX_TIME_BASE}")
    return {"numerator": numerator, "denominator": denominator}


def waiting(parameters: Dict[str, Any], max_wait: float) -> Dict[str, Any]:
    """The parameters of a call that waits for a slot, for at most `max_wait` seconds."""
    if not 0 <= max_wait * 1000 <= MAX_WAIT:
        raise refused(f"max_wait is {max_wait:g} s, not 0 to {MAX_WAIT // 1000} s")
    milliseconds = math.ceil(max_wait * 1000)
    return {**parameters, "max_wait_ms": milliseconds} if milliseconds else parameters


def _specification(kind: str, hardware: Optional[bool], more: Properties) -> Dict[str, Any]:
    """`kind` is "Encoder" or "Decoder"; None prefers hardware."""
    specification: Dict[str, Any] = {}
    if hardware is True:
        specification[f"RequireHardwareAcceleratedVideo{kind}"] = True
    elif hardware is False:
        specification[f"EnableHardwareAcceleratedVideo{kind}"] = False
    return {**specification, **(more or {})}


def compression(
    size: Tuple[int, int], pixel_format: str, codec: Optional[str], time_base: TimeBase, hardware: Optional[bool],
    specification: Properties, properties: Mapping[str, Any]
) -> Dict[str, Any]:
    form = fourcc(pixel_format)
    return {
        "codec": codec or ("hevc-with-alpha" if form == "YUVA" else "hevc"), "width": size[0], "height": size[1],
        "pixel_format": form, "time_base": _time_base(time_base),
        "encoder_specification": _specification("Encoder", hardware, specification), "properties": dict(properties)}


def decompression(
    format_description: bytes, pixel_format: Optional[str], time_base: TimeBase, hardware: Optional[bool],
    specification: Properties, properties: Mapping[str, Any]
) -> Dict[str, Any]:
    parameters = {
        "codec": "hevc", "format_description": bytes(format_description).hex(), "time_base": _time_base(time_base),
        "decoder_specification": _specification("Decoder", hardware, specification), "properties": dict(properties)}
    if pixel_format is not None:
        parameters["pixel_format"] = fourcc(pixel_format)
    return parameters


def _image(description: Union[str, Mapping[str, str]]) -> Dict[str, str]:
    image = {"pixel_format": description} if isinstance(description, str) else dict(description)
    image["pixel_format"] = fourcc(image.get("pixel_format", ""))
    return image


def transfer(
    size: Tuple[int, int], source: Union[str, Mapping[str, str]], target: Union[str, Mapping[str, str]],
    device: Optional[str], options: Mapping[str, Any], target_size: Optional[Tuple[int, int]] = None,
    tables: Sequence[bytes] = ()
) -> Dict[str, Any]:
    for number, text in enumerate(tables):
        if not 1 <= len(text) <= MAX_TABLE:
            raise refused(f"table {number} has {len(text)} bytes, not 1 to {MAX_TABLE}")
    if tables:
        options = {**options, "added_tables": len(tables)}
    parameters = {"width": size[0], "height": size[1], "source": _image(source), "target": _image(target)}
    if target_size is not None:
        parameters["target_width"], parameters["target_height"] = target_size
    if options:
        parameters["options"] = dict(options)
    if device is not None:
        parameters["device"] = device
    return parameters
