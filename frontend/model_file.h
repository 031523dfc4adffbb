// Reads the bytes of an ONNX file into the wire structs, under limits that hold for hostile files
// too.
#pragma once

#include "frontend/onnx.pb.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace smelt::frontend {

/// The largest file that is read whole: protobuf's own limit. Larger models keep their weights in
/// external files.
constexpr uint64_t kMaxModelBytes = (uint64_t{1} << 31) - 1;

/// Parses the ONNX file at `path`. Reports at `location` and fails where the file cannot be read,
/// is larger than kMaxModelBytes, is no protobuf, is truncated, or holds no graph.
mlir::FailureOr<std::unique_ptr<onnx_wire::Model>> readModelFile(mlir::Location location,
                                                                 llvm::StringRef path);

/// The same for bytes that are in memory.
mlir::FailureOr<std::unique_ptr<onnx_wire::Model>> parseModel(mlir::Location location,
                                                              llvm::ArrayRef<char> bytes);

} // namespace smelt::frontend
