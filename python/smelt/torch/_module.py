"""A plan as a module."""

from __future__ import annotations

import os

import torch

from smelt._errors import UsageError
from smelt._plan import Plan, opened
from smelt._session import Session
from smelt.torch._op import Runner, run


class Module(torch.nn.Module):
    """A compiled model: tensors in, tensors out, on PyTorch's current stream. For inference.

    `plan` is a Plan, a plan's file or, with device="cpu", an ONNX model's file. `device` is "cuda", "cuda:1", or "cpu": the
    interpreter, which is slower by far. Inputs lie there, in the model's order or by their names. One output is a tensor,
    several are a tuple. Inside torch.compile and torch.export it is one operator, `smelt::run`."""

    def __init__(self, plan: Plan | str | os.PathLike[str], device: torch.device | str = "cuda"):
        super().__init__()
        if not isinstance(plan, Plan):
            plan = opened(plan)
        chosen = torch.device(device)
        if chosen.type == "cuda" and chosen.index is None:
            chosen = torch.device("cuda", torch.cuda.current_device())
        self._runner = Runner(Session(plan, "cpu" if chosen.type == "cpu" else chosen.index), chosen)
        self._number = self._runner.number
        self._names = [info.name for info in self._runner.session.get_inputs()]

    def forward(self, *tensors: torch.Tensor, **named: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        outputs = run(self._ordered(tensors, named), self._number)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _ordered(self, tensors: tuple[torch.Tensor, ...], named: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        names = self._names[len(tensors) :]
        if len(tensors) > len(self._names) or set(names) != set(named):
            raise UsageError(f"the model takes {', '.join(self._names)}: {len(tensors)} in order and {sorted(named)} were given")
        given = [*tensors, *(named[name] for name in names)]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given):
            raise UsageError("Smelt computes no gradients: call the module under torch.no_grad() or torch.inference_mode()")
        return given

    def extra_repr(self) -> str:
        return f"{', '.join(self._names)}; on {self._runner.session.device_name}"
