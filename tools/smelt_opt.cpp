// smelt-opt: reads IR in the smelt dialect, runs the passes that the command line names, prints the
// result.
#include "ir/dialect.h"
#include "passes/passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, smelt::SmeltDialect>();
  mlir::registerTransformsPasses();
  smelt::registerSmeltPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "The smelt dialect's optimizer\n", registry));
}
