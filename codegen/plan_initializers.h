// What a plan says of the model's initializers: where their elements went, or why they cannot be updated.
#pragma once

#include "ir/refit.h"
#include "runtime/plan_format.h"

namespace smelt::codegen {

/// Why no engine can give the initializer other values, whatever became of it; "": nothing speaks against it.
llvm::StringRef structuralRefusal(const ModelInitializer &initializer);

/// Adds Metadata.initializers. `weights` are the values of Metadata.weights, `isRefit` whether the
/// module was compiled to have its weights exchanged.
void describeInitializers(llvm::ArrayRef<ModelInitializer> initializers,
                          llvm::ArrayRef<mlir::Value> weights, bool isRefit,
                          plan::MetadataT &metadata);

} // namespace smelt::codegen
