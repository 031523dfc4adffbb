"""Smelt inside PyTorch, for inference.

    compiled = torch.compile(model, backend="smelt")           # found by its name; needs no import
    with torch.inference_mode():
        outputs = compiled(**inputs)

    layer = smelt.torch.Module(smelt.compile("model.onnx"))    # a plan as a torch.nn.Module
"""

from smelt.torch._backend import FallbackWarning, WeightsWarning, backend
from smelt.torch._module import Module

__all__ = ["FallbackWarning", "Module", "WeightsWarning", "backend"]
