"""A recording: the words that are spoken in it, each stretch of speech with its time."""

from __future__ import annotations

import os
import shutil
import wave
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.runtime.launcher import DEVNULL, PIPE, start_process

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RATE = 16_000
_STRETCH = 45 * _RATE  # samples that are transcribed at once
_SEARCHED = 15 * _RATE  # where the end of a stretch may be, at the most silent place
_PAUSE = _RATE // 5
_KIND = b"RIFF"
_MOST = limits.MINUTES * 60 * _RATE


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """A line for each stretch of speech."""
    sound = _read_wave(file) if _is_wave(file) else _read_by_ffmpeg()
    if len(sound) > _MOST:
        raise ConversionError("minutes", -(-len(sound) // (60 * _RATE)))
    from moonshine_voice.moonshine_api import ModelArch  # type: ignore[import-untyped]
    from moonshine_voice.transcriber import Transcriber  # type: ignore[import-untyped]
    from moonshine_voice.utils import get_model_path  # type: ignore[import-untyped]

    transcriber = Transcriber(str(get_model_path("tiny-en")), ModelArch.TINY)
    lines = []
    for start, end in split_at_pauses(sound):
        for line in transcriber.transcribe_without_streaming(sound[start:end].tolist(), _RATE).lines:
            if text := " ".join(line.text.split()):
                second = int(start / _RATE + line.start_time)
                lines.append(f"[{second // 60:02}:{second % 60:02}] {text}")
        output.progress(end // _RATE, len(sound) // _RATE)
    if not lines:
        raise ConversionError("silent")
    output.part("\n".join(lines))


def split_at_pauses(sound: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Where to cut a long recording: in pauses."""
    import numpy as np

    start = 0
    while len(sound) - start > _STRETCH:
        part = sound[start + _STRETCH - _SEARCHED : start + _STRETCH]
        loud = np.abs(part[: len(part) // _PAUSE * _PAUSE]).reshape(-1, _PAUSE).mean(axis=1)
        end = start + _STRETCH - _SEARCHED + int(loud.argmin()) * _PAUSE + _PAUSE // 2
        yield start, end
        start = end
    yield start, len(sound)


def _is_wave(file: BinaryIO) -> bool:
    head = file.read(12)
    file.seek(0)
    return head[:4] == _KIND and head[8:] == b"WAVE"


def _read_wave(file: BinaryIO) -> NDArray[Any]:
    """The samples of a WAV file of whole numbers, as one channel at the rate of the model."""
    try:
        with wave.open(file, "rb") as source:
            channels, width, rate, count, *_ = source.getparams()
            minutes = count // max(rate, 1) // 60 + 1
            if minutes > limits.MINUTES + 1:
                raise ConversionError("minutes", minutes)
            data = source.readframes(count)
    except wave.Error as error:
        raise ConversionError("encoding" if "format" in str(error) else "damaged") from error
    import numpy as np

    data = data[: len(data) // (width * channels) * width * channels]
    samples: NDArray[Any]
    if width == 1:
        samples = (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    elif width == 3:
        bytes_ = np.frombuffer(data, np.uint8).reshape(-1, 3)
        samples = (bytes_[:, 1].astype(np.float32) + bytes_[:, 2].astype(np.int8) * np.float32(256)) / 32768
    else:
        samples = np.frombuffer(data, f"<i{width}").astype(np.float32) / float(1 << (8 * width - 1))
    return resample(samples.reshape(-1, channels).mean(axis=1), rate)


def resample(sound: NDArray[Any], rate: int) -> NDArray[Any]:
    """The sound at the rate of the model; frequencies that are too high for it are filtered out first."""
    import numpy as np

    if rate == _RATE or not len(sound):
        return sound
    if rate > _RATE:
        reach = np.arange(-32, 33)
        kernel = np.sinc(reach * _RATE / rate) * np.hamming(len(reach))
        sound = np.convolve(sound, kernel / kernel.sum(), "same")
    places = np.arange(len(sound) * _RATE // rate) * (rate / _RATE)
    made: NDArray[Any] = np.interp(places, np.arange(len(sound)), sound)
    return made


def _read_by_ffmpeg() -> NDArray[Any]:
    """The samples of a recording in another format, by ffmpeg where that is installed; it reads what we would."""
    import numpy as np

    program = shutil.which("ffmpeg")
    if program is None:
        raise ConversionError("encoding")
    most = str(limits.MINUTES * 60 + 1)
    source = ["-nostdin", "-protocol_whitelist", "file,pipe", "-i", "/dev/stdin"]  # by name, for some formats seek
    argv = [program, "-v", "error", *source, "-t", most, "-f", "s16le", "-ac", "1", "-ar", str(_RATE), "pipe:1"]
    process = start_process(argv, "/", dict(os.environ), (0, PIPE, DEVNULL))
    data, _ = process.communicate()
    if process.returncode or not data:
        raise ConversionError("damaged")
    return np.frombuffer(data[: len(data) // 2 * 2], "<i2").astype(np.float32) / 32768
