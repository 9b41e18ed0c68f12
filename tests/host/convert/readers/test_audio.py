from __future__ import annotations

import io
import wave

import numpy as np
import pytest

from toolroll.host.convert.readers import audio


def tone(rate: int, seconds: float, pitch: float) -> np.ndarray:
    return np.sin(2 * np.pi * pitch * np.arange(int(rate * seconds)) / rate)


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100, 48_000])
def test_another_rate(rate: int) -> None:
    collected = audio.resample(tone(rate, 1.0, 440), rate)
    assert len(collected) == 16_000
    assert np.abs(collected[100:-100] - tone(16_000, 1.0, 440)[100:-100]).max() < 0.02


def test_what_is_too_high_does_not_come_back_as_something_low() -> None:
    assert np.abs(audio.resample(tone(48_000, 1.0, 15_000), 48_000)[100:-100]).max() < 0.05


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_whole_numbers_of_any_width(width: int, channels: int) -> None:
    values = [0.5, -0.5, 0.0, 0.25]
    unit = 1 << (8 * width - 1)
    numbers = [int(value * unit) + (unit if width == 1 else 0) for value in values for _ in range(channels)]
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((channels, width, 16_000, 0, "NONE", ""))
        file.writeframes(b"".join(one.to_bytes(width, "little", signed=width > 1) for one in numbers))
    made.seek(0)
    assert audio._read_wave(made).tolist() == pytest.approx(values, abs=0.01)


def test_a_long_recording_is_cut_in_its_pauses() -> None:
    sound = np.ones(100 * 16_000)
    sound[40 * 16_000 : 40 * 16_000 + 8_000] = 0
    sound[80 * 16_000 : 80 * 16_000 + 8_000] = 0
    found = list(audio.split_at_pauses(sound))
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == len(sound)
    assert all(sound[end] == 0 for _, end in found[:-1])
    assert len(found) == 3
