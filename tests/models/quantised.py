"""Q/DQ models as ONNX Runtime's static quantiser makes them, of the exports in half precision."""
import os
import tempfile

import numpy as np

import models

# What ONNX Runtime advises for NVIDIA's GPUs: no zero points.
SYMMETRIC = {'extra_options': {'ActivationSymmetric': True, 'WeightSymmetric': True}}
PRODUCTS = {'op_types_to_quantize': ['MatMul']}
# The export, the shape of what its ranges are calibrated on, and the quantiser's options: its defaults are signed bytes,
# activations with zero points, weights without, every op that it knows.
MODELS = {
    'resnet50.qdq': ('resnet50.dy20_fp16', (2,), {}),
    'resnet50.qdq_symmetric': ('resnet50.dy20_fp16', (2,), SYMMETRIC),
    'bert_base.qdq': ('bert_base.dy20_fp16', (2, 64), PRODUCTS),
    'bert_base.qdq_symmetric': ('bert_base.dy20_fp16', (2, 64), PRODUCTS | SYMMETRIC),
    'bert_base.qdq_all': ('bert_base.dy20_fp16', (2, 64), {}),
    'minilm.qdq': ('minilm.dy20_fp16', (2, 64), PRODUCTS),
    'minilm.qdq_symmetric': ('minilm.dy20_fp16', (2, 64), PRODUCTS | SYMMETRIC),
    'minilm.qdq_all': ('minilm.dy20_fp16', (2, 64), {}),
}


def _widen(tensor):
    """float32 in the place of float16."""
    import onnx
    if tensor.data_type == onnx.TensorProto.FLOAT16:
        wide = onnx.numpy_helper.to_array(tensor).astype(np.float32)
        tensor.CopyFrom(onnx.numpy_helper.from_array(wide, tensor.name))


def to_float32(model):
    """The same model, whose weights are loaded, with float32 in the place of float16."""
    import onnx
    half, single = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    for tensor in model.graph.initializer:
        _widen(tensor)
    for info in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if info.type.tensor_type.elem_type == half:
            info.type.tensor_type.elem_type = single
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField('t'):
                _widen(attribute.t)
            if node.op_type == 'Cast' and attribute.name == 'to' and attribute.i == half:
                attribute.i = single
    return model


def make_inputs(known, shape, seed):
    """Those of the export, in float32."""
    return {name: value.astype(np.float32) if value.dtype == np.float16 else value
            for name, value in models.make_inputs(known, shape, seed).items()}


def quantise(source, target, samples, **options):
    """Writes the Q/DQ form of the float32 model at `source`; `samples` are inputs that its ranges are calibrated on."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = iter(samples)

        def get_next(self):
            return next(self.rest, None)

    quantize_static(source, target, Reader(), quant_format=QuantFormat.QDQ, **options)


def run_onnxruntime(path, inputs, optimised=False):
    """Outputs of the model by name; plain float32 where it is not optimised."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


def export_of(name):
    """The export that a Q/DQ model is made of."""
    return models.named(models.MODELS + models.FURTHER, MODELS[name][0])[0]


def find(name, model_dir, cache):
    """Path of the Q/DQ model `name`, a channel's weights sharing a scale; made once."""
    import onnx
    target = os.path.join(cache, name + '.onnx')
    if os.path.exists(target):
        return target
    known = export_of(name)
    _, shape, options = MODELS[name]
    model = to_float32(onnx.load(models.find(known, model_dir, cache)))
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        wide, made = os.path.join(folder, 'wide.onnx'), os.path.join(folder, 'made.onnx')
        onnx.save(model, wide)
        quantise(wide, made, [make_inputs(known, shape, seed) for seed in range(4)], per_channel=True,
                 **options)
        os.replace(made, target)
    return target
