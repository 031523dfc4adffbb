// A graph without inputs, for tests of what helpers of the handlers compute.
#pragma once

#include "frontend/graph_builder.h"

#include "ir/interpret/interpret.h"

namespace smelt::test {

class FormulaFixture {
public:
  FormulaFixture() {
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
    mlir::Location location = mlir::UnknownLoc::get(&context);
    auto type = mlir::FunctionType::get(&context, {}, {});
    function = mlir::func::FuncOp::create(location, "main", type);
    function->addEntryBlock();
    facts.emplace(*function);
    builder.emplace(*function, *facts);
  }

  frontend::GraphBuilder &build() { return *builder; }

  mlir::Value numbers(const std::vector<double> &values) {
    auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())},
                                            mlir::Float64Type::get(&context));
    return build().constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(values)));
  }

  /// What the value is; nothing where it cannot be computed.
  std::vector<double> evaluated(mlir::Value value) {
    std::vector<double> result;
    if (!value)
      return result;
    mlir::FailureOr<HostTensor> tensor = evaluate(value);
    if (mlir::succeeded(tensor))
      for (int64_t i = 0; i < tensor->getNumElements(); ++i)
        result.push_back(tensor->getDouble(i));
    return result;
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  std::optional<frontend::ShapeFacts> facts;
  std::optional<frontend::GraphBuilder> builder;
};

} // namespace smelt::test
