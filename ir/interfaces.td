// What ops have in common beyond traits: so that passes and kernels ask for a property, not for a list of ops.
#ifndef SMELT_INTERFACES_TD
#define SMELT_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Smelt_RowReduction : OpInterface<"RowReduction"> {
  let cppNamespace = "::smelt";
  let description = "Combines the elements of rows of its first operand: reductions, softmax, norms.";
  let methods = [
    InterfaceMethod<"The tensor whose rows are combined.", "::mlir::Value", "getReduced", (ins), [{
      return $_op->getOperand(0);
    }]>,
    InterfaceMethod<[{
      The first of the trailing axes that are combined; none where others are, or none at all.
    }], "::std::optional<int64_t>", "getFirstReducedAxis">
  ];
}

def Smelt_Normalization : OpInterface<"Normalization", [Smelt_RowReduction]> {
  let cppNamespace = "::smelt";
  let description = "(x - mean) / spread * scale + bias over the trailing axes; without mean and bias where not centered.";
  let methods = [
    InterfaceMethod<"x", "::mlir::Value", "getNormalized", (ins), "return $_op.getInput();">,
    InterfaceMethod<"Null: 1.", "::mlir::Value", "getScale">,
    InterfaceMethod<"Null: 0.", "::mlir::Value", "getBias">,
    InterfaceMethod<"Added to the mean square.", "::llvm::APFloat", "getEpsilon">,
    InterfaceMethod<"The mean is subtracted, and spread measured around it.", "bool", "isCentered">
  ];
}

#endif
