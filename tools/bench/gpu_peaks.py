"""What the GPUs that benchmarks run on could do at most, by NVIDIA's data sheets."""

# A part of the name that PyTorch gives: dense operations a second by arithmetic, and bytes a second.
PEAKS = {
    "H200": ({"half": 989.5e12, "byte": 1979e12}, 4.8e12),
    "H100 80GB HBM3": ({"half": 989.5e12, "byte": 1979e12}, 3.35e12),
}


def least_seconds(gpu, row):
    """That a row takes at the peaks, by the larger of arithmetic and memory; None for a GPU that is not listed."""
    for name, (operations, memory) in PEAKS.items():
        if name in gpu:
            return max(row.flops / operations[row.arithmetic], row.bytes / memory)
    return None
