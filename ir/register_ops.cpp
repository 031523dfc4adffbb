// Makes MLIR know the dialect's ops: a model of each, all of them templates of MLIR's; like generated_ops.cpp a file of its
// own because of the time that it takes to compile.
#include "ir/dialect.h"

using namespace mlir;

namespace smelt {

void SmeltDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/ops.cpp.inc"
      >();
}

} // namespace smelt
