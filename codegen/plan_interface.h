// What a plan says of the model's inputs and outputs: names, types, sizes, and what must hold of them.
#pragma once

#include "codegen/dim_table.h"
#include "runtime/status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smelt::codegen {

/// Adds Metadata.inputs and outputs: the arguments and results of `function`.
void describeInterface(mlir::func::FuncOp function, plan::MetadataT &metadata, DimTable &dims);

void addGuard(plan::MetadataT &metadata, DimTable &dims, Dim left, plan::Relation relation,
              Dim right, std::string message);
/// Adds those of the module.
void copyGuards(mlir::ModuleOp module, plan::MetadataT &metadata, DimTable &dims);

/// Every symbol must be the size of some input's axis or the capacity of an output, or no caller
/// could give it a value: fails with kInvalidModel.
Status checkSymbols(mlir::func::FuncOp function, const plan::MetadataT &metadata);

} // namespace smelt::codegen
