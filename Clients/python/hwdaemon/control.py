# SPDX-License-Identifier: MIT
"""The replies of org.hwdaemon's methods as types; `org.hwdaemon.varlink` describes each member."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ConnectionClosed

T = TypeVar("T")


@dataclass(frozen=True)
class ServiceInfo:
    vendor: str
    product: str
    version: str
    url: str
    interfaces: List[str]


@dataclass(frozen=True)
class PictureSizes:
    min_width: int
    min_height: int
    max_width: Optional[int] = None
    max_height: Optional[int] = None


@dataclass(frozen=True)
class Encoder:
    id: str
    name: str
    codec: str
    hardware: bool
    version: str
    bit_depths: List[int]
    pixel_formats: List[str]
    device: Optional[str] = None
    pci_address: Optional[str] = None
    sizes: Optional[PictureSizes] = None


@dataclass(frozen=True)
class Decoder:
    id: str
    name: str
    codec: str
    hardware: bool
    bit_depths: List[int]
    device: Optional[str] = None
    pci_address: Optional[str] = None
    max_width: Optional[int] = None
    max_height: Optional[int] = None
    #: Daemons that lack this member list verified decoders only.
    verified: bool = True
    reason: Optional[str] = None


@dataclass(frozen=True)
class RenderNode:
    node: str
    state: str
    pci_address: Optional[str] = None
    pci_id: Optional[str] = None
    kernel_driver: Optional[str] = None
    driver: Optional[str] = None
    by_path: Optional[str] = None
    reason: Optional[str] = None
    cause: Optional[str] = None


@dataclass(frozen=True)
class HardwareLimits:
    entrypoint: str
    rate_control: List[str]
    packed_headers: List[str]
    max_width: Optional[int] = None
    max_height: Optional[int] = None


@dataclass(frozen=True)
class CodecPath:
    id: str
    codec: str
    operation: str
    profile: str
    bit_depth: int
    driver: str
    claimed: bool
    verified: bool
    quirks: List[str]
    features: List[str]
    device: Optional[str] = None
    reason: Optional[str] = None
    hardware: Optional[HardwareLimits] = None
    cause: Optional[str] = None


@dataclass(frozen=True)
class ComputeImports:
    host_memory: bool
    host_memory_verified: bool
    dma_bufs: bool
    dma_buf_modifiers: bool
    host_memory_alignment: Optional[int] = None


@dataclass(frozen=True)
class ComputeLimits:
    max_storage_buffer_range: int
    max_storage_buffers: int
    storage_16_bit: bool
    float16: bool
    timestamp_period_ns: Optional[float] = None


@dataclass(frozen=True)
class ComputeSpeed:
    picture_ms: float
    cpu_picture_ms: float
    cpu_threads: int
    opening_ms: float


@dataclass(frozen=True)
class ComputeDevice:
    id: str
    name: str
    driver: str
    api_version: str
    type: str
    claimed: bool
    tried: bool
    verified: bool
    chosen: bool
    choice: str
    imports: ComputeImports
    limits: ComputeLimits
    pci_address: Optional[str] = None
    reason: Optional[str] = None
    speed: Optional[ComputeSpeed] = None


@dataclass(frozen=True)
class Vulkan:
    state: str
    devices: List[ComputeDevice]
    loader: Optional[str] = None
    reason: Optional[str] = None
    cause: Optional[str] = None


@dataclass(frozen=True)
class Quirk:
    id: str
    why: str
    disables_path: bool
    disabled_features: List[str]
    fixed_in: Optional[str] = None
    link: Optional[str] = None


@dataclass(frozen=True)
class SoftwareFailure:
    reason: str
    cause: Optional[str] = None


@dataclass(frozen=True)
class Probe:
    schema: int
    encoders: List[Encoder]
    paths: List[CodecPath]
    nodes: List[RenderNode]
    warnings: List[str]
    vulkan: Optional[Vulkan] = None
    quirks: Optional[List[Quirk]] = None
    software_failure: Optional[SoftwareFailure] = None


@dataclass(frozen=True)
class ProtocolLimits:
    max_call_bytes: int
    max_payload_bytes: int
    max_file_descriptors: int
    max_packet_bytes: int
    timestamp_bound: int
    max_dimension: int


@dataclass(frozen=True)
class Features:
    features: List[str]
    limits: ProtocolLimits


@dataclass(frozen=True)
class HardwareSupport:
    """The reply to IsHardwareEncodeSupported, with `encoder_id`, or to IsHardwareDecodeSupported, with `decoder_id`."""

    supported: bool
    encoder_id: Optional[str] = None
    decoder_id: Optional[str] = None
    reason: Optional[str] = None


@dataclass(frozen=True)
class StillSupport:
    """The reply to IsStillEncodeSupported; the tiles are missing where no size was asked about."""

    supported: bool
    hardware: bool
    encoder_id: Optional[str] = None
    tile_width: Optional[int] = None
    tile_height: Optional[int] = None
    columns: Optional[int] = None
    rows: Optional[int] = None
    reason: Optional[str] = None


@dataclass(frozen=True)
class Property:
    type: str
    access: str
    description: str
    default: Any = None
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    values: Optional[List[str]] = None


@dataclass(frozen=True)
class EffectParameter:
    """A parameter of an effect; `default` is written as in an effect's text."""

    name: str
    type: str
    required: bool
    description: str
    default: Optional[str] = None
    unit: Optional[str] = None
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    values: Optional[List[str]] = None


@dataclass(frozen=True)
class EffectInfo:
    """An effect of pixel-transfer sessions, as their option `effects` names it."""

    name: str
    description: str
    parameters: List[EffectParameter]
    keeps_highlights: bool
    cost: str
    highlights_except: Optional[str] = None


@dataclass(frozen=True)
class RunningSession:
    session: str
    kind: str
    pid: int
    uid: int
    codec: str
    width: int
    height: int
    pixel_format: str
    frames_in: int
    frames_out: int
    bytes_out: int
    pending_frames: int
    age_ms: int
    encoder_id: Optional[str] = None
    using_hardware: Optional[bool] = None
    fallback_reason: Optional[str] = None
    memory_bytes: Optional[int] = None
    granted_bytes: Optional[int] = None


@dataclass(frozen=True)
class SessionResult:
    finished: bool
    code: int
    reason: str
    frames_in: int
    frames_out: int


@dataclass(frozen=True)
class CompressionCreated:
    """The reply to CreateCompressionSession."""

    session: str
    encoder_id: str
    using_hardware: bool
    max_frames_in_flight: int
    max_packets_in_flight: int
    fallback_reason: Optional[str] = None
    max_frames_held: Optional[int] = None
    reorder_depth: Optional[int] = None
    priority_reason: Optional[str] = None


@dataclass(frozen=True)
class DecompressionCreated:
    """The reply to CreateDecompressionSession."""

    session: str
    decoder_id: str
    using_hardware: bool
    width: int
    height: int
    pixel_format: str
    max_packets_in_flight: int
    max_frames_in_flight: int
    fallback_reason: Optional[str] = None
    priority_reason: Optional[str] = None


@dataclass(frozen=True)
class TransferCreated:
    """The reply to CreateTransferSession."""

    session: str
    device: str
    using_gpu: bool
    max_frames_in_flight: int
    device_reason: Optional[str] = None
    fallback_reason: Optional[str] = None


def typed(expected: Type[T], reply: Mapping[str, Any]) -> T:
    """A reply as its type; members that a later daemon adds are ignored.

    Raises ConnectionClosed for a reply that lacks a member or has one of another type.
    """
    result: T = _convert(expected, reply, expected.__name__)
    return result


def member(expected: Any, reply: Mapping[str, Any], name: str) -> Any:
    """One member of a reply as a type; raises as `typed`."""
    if name not in reply:
        raise ConnectionClosed(f"the daemon's reply lacks {name}")
    return _convert(expected, reply[name], name)


def _convert(expected: Any, value: Any, path: str) -> Any:
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is Union:
        return None if value is None else _convert(arguments[0], value, path)
    if origin is list and isinstance(value, list):
        return [_convert(arguments[0], entry, f"{path}[]") for entry in value]
    if origin is dict and isinstance(value, dict):
        return {name: _convert(arguments[1], entry, f"{path}.{name}") for name, entry in value.items()}
    if expected is Any:
        return value
    if dataclasses.is_dataclass(expected) and isinstance(value, dict):
        return _construct(expected, value, path)
    # JSON has no integers of its own: 1 may be meant as 1.0. A bool is an int in Python.
    allowed = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}.get(expected, ())
    if isinstance(value, allowed) and (expected is bool or not isinstance(value, bool)):
        return float(value) if expected is float else value
    raise ConnectionClosed(f"the daemon's reply has a wrong {path}")


def _construct(expected: Any, value: Dict[str, Any], path: str) -> Any:
    hints = get_type_hints(expected)
    for field in dataclasses.fields(expected):
        if field.name not in value and field.default is dataclasses.MISSING:
            raise ConnectionClosed(f"the daemon's reply lacks {path}.{field.name}")
    members = {name: _convert(hint, value[name], f"{path}.{name}") for name, hint in hints.items() if name in value}
    return expected(**members)
