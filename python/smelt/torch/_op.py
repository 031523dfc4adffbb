"""PyTorch's operator `smelt::run`: a session on tensors of PyTorch's, in memory of its allocator, on its current stream."""

import itertools
import weakref

import torch

from smelt._errors import UsageError
from smelt._extent import OutputShapes
from smelt._session import Session
from smelt._tensor import TensorInfo

# An operator takes tensors and numbers: a runner goes by its number, and goes away when its owner does.
_runners: "weakref.WeakValueDictionary[int, Runner]" = weakref.WeakValueDictionary()
_numbers = itertools.count()


class Runner:
    """A session on a device, as the operator takes it: `run(tensors, runner.number)`."""

    def __init__(self, session: Session, device: torch.device):
        self.session, self.device = session, device
        self.number = next(_numbers)
        self._inputs = session.get_inputs()
        self._types = {info.name: _torch_type(info) for info in [*self._inputs, *session.get_outputs()]}
        self._outputs = session.get_outputs()
        functions = {"min": torch.sym_min, "max": torch.sym_max}
        self._shapes = OutputShapes(self._inputs, self._outputs, functions)
        _runners[self.number] = self

    def outputs_for(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Memory for the outputs, of PyTorch's allocator; or fakes, where the inputs are."""
        shapes = self._shapes.of([tensor.shape for tensor in tensors])
        return [
            torch.empty(shape, dtype=self._types[info.name], device=self.device)
            for info, shape in zip(self._outputs, shapes)
        ]

    def run(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        feeds = {info.name: _dense(tensor) for info, tensor in zip(self._inputs, tensors)}
        self._check(feeds)
        outputs = self.outputs_for(tensors)
        stream = torch.cuda.current_stream(self.device) if self.device.type == "cuda" else None
        targets = {info.name: tensor for info, tensor in zip(self._outputs, outputs)}
        self.session.run(None, feeds, stream=stream, outputs=targets)
        return outputs

    def _check(self, feeds: dict[str, torch.Tensor]) -> None:
        if len(feeds) != len(self._inputs):
            raise UsageError(f"{len(feeds)} inputs were given, and the model has {len(self._inputs)}")
        for info in self._inputs:
            if feeds[info.name].dim() != len(info.shape):
                raise UsageError(f"input '{info.name}' has {feeds[info.name].dim()} axes, and the model's {len(info.shape)}")


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where its rows lie behind each other. DLPack takes none that gradients are asked of."""
    return (tensor.detach() if tensor.requires_grad else tensor).contiguous()


def _torch_type(info: TensorInfo) -> torch.dtype:
    found = getattr(torch, info.dtype, None)
    if not isinstance(found, torch.dtype):
        raise UsageError(f"PyTorch has no type for '{info.name}', of {info.dtype}")
    return found


# Defined in the dispatcher itself: torch.library.custom_op does the same and takes 10 us more of each call.
_library = torch.library.Library("smelt", "DEF")
_library.define("run(Tensor[] tensors, int number) -> Tensor[]")


@torch.library.impl(_library, "run", "CompositeExplicitAutograd")
def _run(tensors: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    return _runners[number].run(tensors)


@torch.library.register_fake("smelt::run", lib=_library)
def _fake(tensors: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    return _runners[number].outputs_for(tensors)


run = torch.ops.smelt.run.default
