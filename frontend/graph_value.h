// What an ONNX name stands for while a graph is imported: a tensor of the IR; or, at import time only, a
// sequence of values or an optional one. The IR has tensors alone.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <vector>

namespace smelt::frontend {

class GraphValue {
public:
  /// None: of a node that failed, or an input that is omitted.
  GraphValue() = default;
  GraphValue(mlir::Value tensor) : kind(tensor ? Kind::tensor : Kind::none), value(tensor) {}

  static GraphValue sequence(std::vector<GraphValue> elements) {
    return GraphValue(Kind::sequence, std::move(elements));
  }
  /// An optional that holds nothing.
  static GraphValue emptyOptional() { return GraphValue(Kind::emptyOptional, {}); }

  explicit operator bool() const { return kind != Kind::none; }
  bool isTensor() const { return kind == Kind::tensor; }
  bool isSequence() const { return kind == Kind::sequence; }
  bool isEmptyOptional() const { return kind == Kind::emptyOptional; }
  /// Null for what is no tensor.
  mlir::Value tensor() const { return value; }
  /// Of a sequence.
  const std::vector<GraphValue> &elements() const { return *parts; }

  /// "a tensor", for messages.
  llvm::StringRef kindName() const {
    return isTensor() ? "a tensor" : isSequence() ? "a sequence" : "an empty optional";
  }

private:
  // An optional that holds a value is that value.
  enum class Kind { none, tensor, sequence, emptyOptional };

  GraphValue(Kind kind, std::vector<GraphValue> elements)
      : kind(kind), parts(std::make_shared<const std::vector<GraphValue>>(std::move(elements))) {}

  Kind kind = Kind::none;
  mlir::Value value;
  std::shared_ptr<const std::vector<GraphValue>> parts;
};

} // namespace smelt::frontend
