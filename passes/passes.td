// Every pass of Smelt: its flag, what it does, before => after. One file and one test each, of the same stem.
#ifndef SMELT_PASSES_TD
#define SMELT_PASSES_TD

include "mlir/Pass/PassBase.td"

class Smelt_Pass<string flag> : Pass<"smelt-" # flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::smelt::SmeltDialect"];
}

//===----------------------------------------------------------------------===//
// fuse: graph ops become smelt.fusion
//===----------------------------------------------------------------------===//

def FuseHorizontal : Smelt_Pass<"fuse-horizontal"> {
  let summary = "x Wq, x Wk, x Wv => slices of x [Wq|Wk|Wv]";
}
def FuseAttention : Smelt_Pass<"fuse-attention"> {
  let summary = "attention and the views around it => fusion attention";
}
def FuseGemm : Smelt_Pass<"fuse-gemm"> {
  let summary = "gelu(x W + b) + r => fusion gemm";
}
def FuseRowwise : Smelt_Pass<"fuse-rowwise"> {
  let summary = "layer_norm(gather + gather) => fusion rowwise";
}
def FuseGeneric : Smelt_Pass<"fuse-generic"> {
  let summary = "an op that no template fuses => fusion generic";
}
def FusePointwise : Smelt_Pass<"fuse-pointwise"> {
  let summary = "chains of elementwise ops, gathers and views => fusion pointwise";
}

//===----------------------------------------------------------------------===//
// lower: the form that the code generator accepts
//===----------------------------------------------------------------------===//

def Lower : Smelt_Pass<"lower"> {
  let summary = "Drops dead ops, checks the fused form";
}

#endif
