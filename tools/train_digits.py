#!/usr/bin/env python3
"""Trains the demo model and writes tools/demo/: digits_vit.onnx and the held-out split as .npy files.

usage: tools/train_digits.py        (needs torch, onnxscript, onnx, onnxruntime, scikit-learn; 4 minutes)

The model is a vision transformer at the scale of its data, scikit-learn's bundled 1,797 digits of 8x8
pixels: 2x2 patches embedded by a convolution, a class token, learned positions, pre-norm encoder layers
with multi-head attention and GELU, a linear classifier. 70 % of the images train it, with a
fixed schedule that never looks at the other 30 %, which are kept apart as the held-out split.

Seeds: SPLIT_SEED chooses the split, TRAIN_SEED the initialisation, the batches and the augmentation.
The result depends on torch's version as well; the files in the repository are one run's, and the script
refuses to write a model whose held-out accuracy, as ONNX Runtime computes it, is under 98 %.
"""

import math
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

SPLIT_SEED = 7
TRAIN_SEED = 1
OPSET = 20
OUT = Path(__file__).resolve().parent / "demo"

WIDTH, HEADS, LAYERS, CLASSES = 64, 4, 4, 10
EPOCHS, BATCH, PEAK_RATE, WEIGHT_DECAY, DROPOUT = 240, 64, 1.5e-3, 0.05, 0.1


class Attention(nn.Module):
    """Multi-head self-attention: [batch, tokens, WIDTH] to the same shape."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        batch, count, _ = tokens.shape
        heads = (batch, count, HEADS, WIDTH // HEADS)
        query, key, value = (
            project(tokens).view(heads).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.output(mixed.transpose(1, 2).reshape(batch, count, WIDTH))


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp_norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, tokens):
        tokens = tokens + self.dropout(self.attention(self.attention_norm(tokens)))
        return tokens + self.dropout(self.mlp(self.mlp_norm(tokens)))


class DigitsTransformer(nn.Module):
    """[batch, 1, 8, 8] images with values in [0, 1] to [batch, 10] logits."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, kernel_size=2, stride=2)
        self.class_token = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 17, WIDTH))
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.classifier = nn.Linear(WIDTH, CLASSES)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        class_token = self.class_token.expand(images.shape[0], -1, -1)
        tokens = torch.cat([class_token, tokens], dim=1) + self.positions
        for layer in self.layers:
            tokens = layer(tokens)
        return self.classifier(self.norm(tokens)[:, 0])


def load_split():
    """Images as float32 [n, 1, 8, 8] in [0, 1] and int64 labels: training, then held out."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    return train_test_split(images, labels, test_size=0.3, random_state=SPLIT_SEED, stratify=labels)


def augment(images):
    """Each image turned, scaled, sheared and moved a little."""
    count = images.shape[0]
    angle = (torch.rand(count) - 0.5) * 2 * math.radians(12)
    scale = 1 + (torch.rand(count, 2) - 0.5) * 0.25
    shear = (torch.rand(count) - 0.5) * 0.3
    transform = torch.zeros(count, 2, 3)
    transform[:, 0, 0] = scale[:, 0] * torch.cos(angle)
    transform[:, 0, 1] = shear - torch.sin(angle)
    transform[:, 1, 0] = torch.sin(angle)
    transform[:, 1, 1] = scale[:, 1] * torch.cos(angle)
    transform[:, :, 2] = (torch.rand(count, 2) - 0.5) * 0.4
    grid = functional.affine_grid(transform, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def train(images, labels):
    torch.manual_seed(TRAIN_SEED)
    images, labels = torch.from_numpy(images), torch.from_numpy(labels)
    model = DigitsTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * math.ceil(len(images) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps)
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            logits = model(augment(images[batch]))
            loss = functional.cross_entropy(logits, labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        if epoch % 20 == 19:
            print(f"epoch {epoch + 1}: training loss {total / len(images):.4f}", flush=True)
    return model.eval()


def export(model, path):
    """The usual export of PyTorch, with a dynamic batch, as one file."""
    example = torch.zeros(2, 1, 8, 8)
    program = torch.onnx.export(
        model,
        (example,),
        input_names=["images"],
        output_names=["logits"],
        dynamic_shapes={"images": {0: torch.export.Dim("batch")}},
        opset_version=OPSET,
        dynamo=True,
    )
    program.save(path, external_data=False)
    graph = onnx.load(path)
    for (
        node
    ) in graph.graph.node:  # the exporter's traces hold paths and source lines of its machine
        del node.metadata_props[:]
    del graph.metadata_props[:]
    onnx.checker.check_model(graph)
    onnx.save(graph, path)


def accuracy(path, images, labels):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"images": images})
    return float((logits.argmax(axis=1) == labels).mean())


def main():
    train_images, test_images, train_labels, test_labels = load_split()
    model = train(train_images, train_labels)
    OUT.mkdir(exist_ok=True)
    path = OUT / "digits_vit.onnx"
    export(model, path)
    score = accuracy(path, test_images, test_labels)
    print(
        f"{path.stat().st_size} bytes, held-out accuracy {score:.4f} on {len(test_labels)} images"
    )
    if score < 0.98:
        path.unlink()
        raise SystemExit("train_digits.py: the model is too weak for the demo; nothing was kept")
    np.save(OUT / "digits_test_images.npy", test_images)
    np.save(OUT / "digits_test_labels.npy", test_labels)


if __name__ == "__main__":
    main()
