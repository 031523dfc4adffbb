"""Trained models in packages of PyPI: which file of which version, and inputs as applications give them."""
import os
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Packaged:
    """A file of a package. `inputs` makes the inputs of one of `sizes`; `states` are the outputs that come back as inputs in
    the next of `steps` runs."""
    package: str
    file: str
    inputs: object
    sizes: tuple
    steps: int = 1
    states: dict = field(default_factory=dict)
    shapes: tuple = ()  # flags to compile with, where open sizes are not enough
    values: tuple = ()  # inputs that are compiled for their value
    tolerance: float = 1e-4

    @property
    def name(self):
        package, file = self.package.split('=')[0], os.path.basename(self.file)[:-len('.onnx')]
        return f'{package}/{file}'


def speech(rate, samples):
    """A voice with syllables and pauses in the noise of a room: harmonics of a pitch that glides, below formants that move."""
    rng = np.random.default_rng(rate)
    time = np.arange(samples) / rate
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * time) + 10 * np.sin(2 * np.pi * 3.1 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = ((500 + 250 * np.sin(2 * np.pi * 2.1 * time), 150, 1.0),
                (1500 + 600 * np.sin(2 * np.pi * 1.7 * time + 1), 200, 0.6),
                (2500 + 200 * np.sin(2 * np.pi * 1.3 * time), 250, 0.3))
    voiced = np.zeros(samples)
    for harmonic in range(1, 40):
        gain = 0.02 + sum(loud * np.exp(-((harmonic * pitch - center) / width) ** 2) for center, width, loud in formants)
        voiced += gain * np.sin(harmonic * phase) * (harmonic * pitch < rate / 2)
    syllables = np.clip(np.sin(2 * np.pi * 2 * time) + 0.3, 0, 1) * (np.sin(2 * np.pi * 0.6 * time) > -0.5)
    return (0.5 * voiced * syllables + 0.003 * rng.standard_normal(samples)).astype(np.float32)


def chunks(rate, chunk, context, step):
    """One chunk of `speech` behind the last samples of the one before."""
    signal = np.concatenate([np.zeros(context, np.float32), speech(rate, 50 * chunk)])
    return signal[None, step * chunk:(step + 1) * chunk + context]


def voice(rate, has_rate):
    """Inputs of a voice detector, for step `step`: its state is 0 at first."""
    def make(size, step):
        chunk, context = (512, 64) if rate == 16000 else (256, 32)
        inputs = {'input': np.repeat(chunks(rate, chunk, context, step), size, 0)}
        inputs['input'] *= np.linspace(1, 0.3, size, dtype=np.float32)[:, None]
        inputs['state'] = np.zeros((2, size, 128), np.float32)
        if has_rate:
            inputs['sr'] = np.array(rate, np.int64)
        return inputs
    return make


def whole_signal(size, step):
    """All chunks at once."""
    rows = np.concatenate([chunks(16000, 512, 64, index) for index in range(size)])
    return {'input': rows, 'h': np.zeros((1, 1, 128), np.float32), 'c': np.zeros((1, 1, 128), np.float32)}


TEXTS = (b'#include <stdio.h>\nint main(void) {\n  printf("hello\\n");\n  return 0;\n}\n' * 40,
         b'{"name": "smelt", "list": [1, 2, 3.5, null, true], "nested": {"key": "value"}}\n' * 9,
         bytes(range(256)) * 20, b'The quick brown fox jumps over the lazy dog.\n' * 60)


def file_bytes(size, step):
    """The first and the last 1024 bytes of files; 256 where there are none."""
    rows = np.full((size, 2048), 256, np.int32)
    for row in range(size):
        text = np.frombuffer(TEXTS[row % len(TEXTS)], np.uint8)[row:]
        first, last = text[:1024], text[-1024:]
        rows[row, :len(first)], rows[row, 2048 - len(last):] = first, last
    return {'bytes': rows}


def page(batch, height, width):
    """Lines of dark strokes, like letters, on paper that is not quite white; as the detectors normalise images."""
    rng = np.random.default_rng([batch, height, width])
    image = np.full((batch, height, width), 0.93) + 0.02 * rng.standard_normal((batch, height, width))
    line = 24 if height > 48 else height
    for top in range(0, height - line + 1, line + line // 3):
        for left in range(8, width - 16, 14):
            if rng.random() < 0.15:
                continue  # between words
            middle, foot = top + line // 2, top + line - 4
            image[:, top + 4:foot, left:left + 3] = 0.1
            image[:, middle:middle + 3, left:left + int(rng.integers(4, 11))] = 0.15
            if rng.random() < 0.5:
                image[:, top + 4:foot, left + 8:left + 10] = 0.1
    return np.repeat(((image - 0.5) / 0.5)[:, None], 3, 1).astype(np.float32)


def image(size, step):
    return {'x': page(*size)}


def reaction(size, step):
    """Two chains of atoms: elements, neighbours, distances in bonds, and sides of the reaction."""
    rng = np.random.default_rng(size)
    half, place = size // 2, np.arange(size)
    distances = np.abs(place[:, None] - place[None]).clip(max=10) + 2
    distances[(place[:, None] < half) != (place[None] < half)] = 1
    return {'atoms': rng.choice([6 + 2, 7 + 2, 8 + 2, 17 + 2], (1, size), p=[0.7, 0.1, 0.15, 0.05]),
            'neighbors': rng.integers(2, 6, (1, size)), 'distances': distances[None].astype(np.int64),
            'roles': np.where(place < half, 2, 3)[None].astype(np.int64)}


STATE = {'stateN': 'state'}
SILERO, RAPIDOCR = 'silero-vad==6.2.3', 'rapidocr==3.10.0'
MODELS = [
    Packaged('magika==1.0.3', 'magika/models/standard_v3_3/model.onnx', file_bytes, (1, 3, 8)),
    Packaged(SILERO, 'silero_vad/data/silero_vad.onnx', voice(16000, True), (1,), 50, STATE, values=('sr',)),
    Packaged(SILERO, 'silero_vad/data/silero_vad_half.onnx', voice(16000, False), (1,), 50, STATE),
    Packaged(SILERO, 'silero_vad/data/silero_vad_16k_op15.onnx', voice(16000, True), (2,), 50, STATE),
    Packaged(SILERO, 'silero_vad/data/silero_vad_op18_ifless.onnx', voice(8000, True), (3,), 5, STATE, values=('sr',)),
    Packaged(SILERO, 'silero_vad/data/silero_vad_16k_sequence.onnx', whole_signal, (50,), shapes=('input=7x576',)),
    Packaged(RAPIDOCR, 'rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx', image,
             ((1, 48, 192), (3, 48, 192), (6, 48, 160))),
    Packaged(RAPIDOCR, 'rapidocr/models/PP-OCRv6_det_small.onnx', image, ((1, 96, 160), (1, 160, 320), (2, 64, 96))),
    Packaged(RAPIDOCR, 'rapidocr/models/PP-OCRv6_rec_small.onnx', image, ((1, 48, 160), (2, 48, 101), (1, 48, 320))),
    Packaged('chython-rxnmap==2.0', 'chython_rxnmap/rxnmap.onnx', reaction, (40, 77, 131)),
]
