// The ops of the `smelt` dialect. Tensor ops are pure; each says in one line what it computes.
// Elementwise ops broadcast NumPy-style. Shapes of reshape, expand and slice are attributes of the result type.
#ifndef SMELT_OPS_TD
#define SMELT_OPS_TD

include "ir/dialect.td"
include "ir/interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributes.td"

def Smelt_Tensor : Type<CPred<"::mlir::isa<::smelt::TensorType>($_self)">, "smelt tensor", "::smelt::TensorType">;
def Smelt_DimArrayAttr : TypedArrayAttrBase<Smelt_DimAttr, "array of dimensions">;

def Smelt_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::smelt"; }
def Smelt_View : NativeOpTrait<"View"> { let cppNamespace = "::smelt"; }

class Smelt_Op<string mnemonic, list<Trait> traits = []> : Op<Smelt_Dialect, mnemonic, traits>;

class Smelt_PureOp<string mnemonic, list<Trait> traits = []> : Smelt_Op<mnemonic, !listconcat([Pure], traits)>;

// The result type follows from operands and attributes.
class Smelt_InferredOp<string mnemonic, list<Trait> traits = []>
    : Smelt_PureOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Smelt_UnaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Smelt_PureOp<mnemonic, !listconcat([Smelt_Elementwise, SameOperandsAndResultType], traits)> {
  let summary = formula;
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($output)";
}

def Smelt_AbsOp : Smelt_UnaryOp<"abs", "|x|">;
def Smelt_NegOp : Smelt_UnaryOp<"neg", "-x">;
def Smelt_ExpOp : Smelt_UnaryOp<"exp", "e^x">;
def Smelt_Expm1Op : Smelt_UnaryOp<"expm1", "e^x - 1, to full relative accuracy near 0">;
def Smelt_LogOp : Smelt_UnaryOp<"log", "natural logarithm of x">;
def Smelt_SqrtOp : Smelt_UnaryOp<"sqrt", "square root of x">;
def Smelt_RsqrtOp : Smelt_UnaryOp<"rsqrt", "1 / sqrt(x)">;
def Smelt_ReciprocalOp : Smelt_UnaryOp<"reciprocal", "1 / x">;
def Smelt_SinOp : Smelt_UnaryOp<"sin", "sine of x in radians">;
def Smelt_CosOp : Smelt_UnaryOp<"cos", "cosine of x in radians">;
def Smelt_TanOp : Smelt_UnaryOp<"tan", "tangent of x in radians">;
def Smelt_AsinOp : Smelt_UnaryOp<"asin", "inverse sine in radians">;
def Smelt_AcosOp : Smelt_UnaryOp<"acos", "inverse cosine in radians">;
def Smelt_AtanOp : Smelt_UnaryOp<"atan", "inverse tangent in radians">;
def Smelt_SinhOp : Smelt_UnaryOp<"sinh", "hyperbolic sine">;
def Smelt_CoshOp : Smelt_UnaryOp<"cosh", "hyperbolic cosine">;
def Smelt_TanhOp : Smelt_UnaryOp<"tanh", "hyperbolic tangent">;
def Smelt_AsinhOp : Smelt_UnaryOp<"asinh", "inverse hyperbolic sine">;
def Smelt_AcoshOp : Smelt_UnaryOp<"acosh", "inverse hyperbolic cosine">;
def Smelt_AtanhOp : Smelt_UnaryOp<"atanh", "inverse hyperbolic tangent">;
def Smelt_ErfOp : Smelt_UnaryOp<"erf", "Gauss error function">;
def Smelt_SigmoidOp : Smelt_UnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Smelt_SiluOp : Smelt_UnaryOp<"silu", "x * sigmoid(x)">;
def Smelt_ReluOp : Smelt_UnaryOp<"relu", "max(x, 0)">;
def Smelt_SoftplusOp : Smelt_UnaryOp<"softplus", "log(1 + e^x)">;
def Smelt_FloorOp : Smelt_UnaryOp<"floor", "largest integer <= x">;
def Smelt_CeilOp : Smelt_UnaryOp<"ceil", "smallest integer >= x">;
def Smelt_RoundOp : Smelt_UnaryOp<"round", "nearest integer, halves to even">;
def Smelt_SignOp : Smelt_UnaryOp<"sign", "-1, 0 or 1">;
def Smelt_NotOp : Smelt_UnaryOp<"not", "logical not of a bool">;
def Smelt_BitNotOp : Smelt_UnaryOp<"bit_not", "every bit of an integer inverted">;

def Smelt_GeluOp : Smelt_UnaryOp<"gelu", "x * Phi(x); `tanh` asks for the tanh approximation"> {
  let arguments = (ins Smelt_Tensor:$input, UnitAttr:$tanh);
  let assemblyFormat = "$input (`tanh` $tanh^)? attr-dict `:` type($output)";
}

class Smelt_TestOp<string mnemonic, string formula> : Smelt_InferredOp<mnemonic, [Smelt_Elementwise]> {
  let summary = formula;
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
}
def Smelt_IsNanOp : Smelt_TestOp<"is_nan", "true where x is NaN">;
def Smelt_IsInfOp : Smelt_TestOp<"is_inf", "true where x is plus or minus infinity">;

def Smelt_CastOp : Smelt_PureOp<"cast", [Smelt_Elementwise]> {
  let summary = "x converted to the result's element type (float to int truncates, to bool is x != 0)";
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType)>];
}

def Smelt_BitcastOp : Smelt_PureOp<"bitcast", [Smelt_Elementwise]> {
  let summary = "The bits of x as the result's element type, which is as wide";
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

class Smelt_BinaryOp<string mnemonic, string formula, list<Trait> traits = []>
    : Smelt_InferredOp<mnemonic, !listconcat([Smelt_Elementwise], traits)> {
  let summary = formula;
  let arguments = (ins Smelt_Tensor:$lhs, Smelt_Tensor:$rhs);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)";
}

def Smelt_AddOp : Smelt_BinaryOp<"add", "x + y", [Commutative]>;
def Smelt_SubOp : Smelt_BinaryOp<"sub", "x - y">;
def Smelt_MulOp : Smelt_BinaryOp<"mul", "x * y", [Commutative]>;
def Smelt_DivOp : Smelt_BinaryOp<"div", "x / y; integers truncate towards zero; an integer division by 0 gives 0">;
def Smelt_PowOp : Smelt_BinaryOp<"pow", "x to the power y, in the element type of x (y may differ)">;
def Smelt_MinOp : Smelt_BinaryOp<"min", "the smaller; NaN if either is NaN", [Commutative]>;
def Smelt_MaxOp : Smelt_BinaryOp<"max", "the larger; NaN if either is NaN", [Commutative]>;
def Smelt_ModOp : Smelt_BinaryOp<"mod", "remainder with the sign of y (Python); `fmod` takes the sign of x"> {
  let arguments = (ins Smelt_Tensor:$lhs, Smelt_Tensor:$rhs, UnitAttr:$fmod);
  let assemblyFormat = "$lhs `,` $rhs (`fmod` $fmod^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)";
}
def Smelt_AndOp : Smelt_BinaryOp<"and", "logical and of bools", [Commutative]>;
def Smelt_OrOp : Smelt_BinaryOp<"or", "logical or of bools", [Commutative]>;
def Smelt_XorOp : Smelt_BinaryOp<"xor", "logical exclusive or of bools", [Commutative]>;

// Of integers. A shift by the width or more leaves 0, to the right of a negative number -1; so does one by a negative count.
def Smelt_BitAndOp : Smelt_BinaryOp<"bit_and", "and of the bits", [Commutative]>;
def Smelt_BitOrOp : Smelt_BinaryOp<"bit_or", "or of the bits", [Commutative]>;
def Smelt_BitXorOp : Smelt_BinaryOp<"bit_xor", "exclusive or of the bits", [Commutative]>;
def Smelt_ShiftLeftOp : Smelt_BinaryOp<"shift_left", "x << y; bits beyond the width are lost">;
def Smelt_ShiftRightOp : Smelt_BinaryOp<"shift_right", "x >> y; the sign fills what becomes free">;

// Comparisons yield bools; greater is less with the operands exchanged.
def Smelt_EqualOp : Smelt_BinaryOp<"equal", "x == y", [Commutative]>;
def Smelt_LessOp : Smelt_BinaryOp<"less", "x < y">;
def Smelt_LessEqualOp : Smelt_BinaryOp<"less_equal", "x <= y">;

def Smelt_SelectOp : Smelt_InferredOp<"select", [Smelt_Elementwise]> {
  let summary = "x where the condition holds, else y";
  let arguments = (ins Smelt_Tensor:$condition, Smelt_Tensor:$lhs, Smelt_Tensor:$rhs);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = [{
    $condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($lhs) `,` type($rhs) `->` type($output)
  }];
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Smelt_NamesResult : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

def Smelt_ConstantOp : Smelt_PureOp<"constant", [ConstantLike, Smelt_NamesResult]> {
  let summary = "A small constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$value attr-dict `:` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::DenseElementsAttr":$value)>];
}

def Smelt_WeightOp : Smelt_PureOp<"weight", [Smelt_NamesResult]> {
  let summary = "A named weight of the model; its bytes stay where `source` says and are read through the WeightStore";
  let arguments = (ins StrAttr:$name, Smelt_SourceAttr:$source);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$name $source attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def Smelt_DimsOp : Smelt_PureOp<"dims"> {
  let summary = "An integer tensor of rank 0 or 1 whose elements are dimensions";
  let arguments = (ins Smelt_DimArrayAttr:$dims);
  let results = (outs Smelt_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Smelt_IotaOp : Smelt_PureOp<"iota"> {
  let summary = "0, 1, 2, ... as an integer or float tensor of rank 1";
  let arguments = (ins);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "attr-dict `:` type($output)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

class Smelt_ViewOp<string mnemonic, list<Trait> traits = []>
    : Smelt_PureOp<mnemonic, !listconcat([Smelt_View], traits)> {
  let results = (outs Smelt_Tensor:$output);
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Smelt_ReshapeOp : Smelt_ViewOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Smelt_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
}

def Smelt_ExpandOp : Smelt_ViewOp<"expand"> {
  let summary = "Dimensions of 1 repeated to the result's; leading dimensions added";
  let arguments = (ins Smelt_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
}

def Smelt_TransposeOp : Smelt_ViewOp<"transpose", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Result axis i is input axis permutation[i]";
  let arguments = (ins Smelt_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($output)";
}

def Smelt_SliceOp : Smelt_ViewOp<"slice"> {
  let summary = "Element i of axis a is input element starts[a] + i * steps[a]; sizes are the result's";
  let arguments = (ins Smelt_Tensor:$input, Smelt_DimArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let assemblyFormat = "$input `starts` $starts `steps` $steps attr-dict `:` type($input) `->` type($output)";
}

def Smelt_WindowsOp : Smelt_ViewOp<"windows"> {
  let summary = "Windows along an axis: element (w, k) of axes a, a + 1 is input element w * stride + k * dilation of axis a";
  let description = "How many windows there are, and of how many elements, the result says. They may overlap.";
  let arguments = (ins Smelt_Tensor:$input, I64Attr:$axis, I64Attr:$stride, I64Attr:$dilation);
  let assemblyFormat = [{
    $input `axis` $axis `stride` $stride `dilation` $dilation attr-dict `:` type($input) `->` type($output)
  }];
}

def Smelt_ConcatOp : Smelt_InferredOp<"concat"> {
  let summary = "The inputs one after the other along an axis";
  let arguments = (ins Variadic<Smelt_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($output)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// State: an input that the caller keeps in a buffer with room to grow, and that grows in place. The ops are values as
// all others: the interpreter copies. The code generator gives a buffer, and all that is appended to it, the memory that
// the caller bound to the input.
//===----------------------------------------------------------------------===//

def Smelt_BufferOp : Smelt_PureOp<"buffer"> {
  let summary = "The buffer that holds an input: along one axis the input's elements, then room up to the result's size";
  let description = "The room holds no values: what reads it before something is written there reads NaN.";
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The one axis along which the result has room.
    unsigned getAxis();
  }];
}

def Smelt_AppendOp : Smelt_InferredOp<"append"> {
  let summary = "The buffer with its elements from `start` on, along an axis, replaced by the rows";
  let arguments = (ins Smelt_Tensor:$buffer, Smelt_Tensor:$rows, Smelt_DimAttr:$start, I64Attr:$axis);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$buffer `,` $rows `at` $start `axis` $axis attr-dict `:` type($buffer) `,` type($rows) `->` type($output)";
}

def Smelt_ContentsOp : Smelt_PureOp<"contents"> {
  let summary = "The filled part of a buffer, which is its start, as a result of the model: it stays where it is";
  let arguments = (ins Smelt_Tensor:$buffer);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($output)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def Smelt_MatmulOp : Smelt_InferredOp<"matmul"> {
  let summary = "Matrix product of the last two axes; leading axes broadcast; floats accumulate in fp32";
  let description = [{
    The result has the element type of the operands; that of f16 or bf16 operands may also be f32, the sums as they are.
    Operands of 8-bit integers, i8 or ui8 and not both the same perhaps, have an i32 result: exact sums modulo 2^32.
    Those of 8-bit floats, f8E4M3FN or f8E5M2 and not both the same perhaps, have an f32 result.
  }];
  let arguments = (ins Smelt_Tensor:$lhs, Smelt_Tensor:$rhs);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)";
  let extraClassDeclaration = "static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);";
}

def Smelt_ConvOp : Smelt_InferredOp<"conv"> {
  let summary = "Convolution over the spatial axes of [N, C, spatial...] with filters [M, C/groups, kernel...]";
  let description = "`pads` are all starts, then all ends (ONNX order). `bias` is [M].";
  let arguments = (ins Smelt_Tensor:$input, Smelt_Tensor:$filter, Optional<Smelt_Tensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^ `:` type($bias))? attr-dict `:` type($input) `,` type($filter) `->` type($output)
  }];
}

def Smelt_AttentionOp : Smelt_InferredOp<"attention"> {
  let summary = "softmax(cap(scale * Q K^T) + bias, masked) V, one normal form for every exporter";
  let description = [{
    query [B, H, I, D], key [B, G, J, D], value [B, G, J, E] with H a multiple of G (head h reads group h / (H/G));
    bias broadcasts to [B, H, I, J] and is added to the scaled score (it may hold -inf).
    `softcap` c > 0: c * tanh(s / c) before the bias. `causal`: key j is visible to query i where j <= i + (J - I).
    `zero_masked_rows`: a row without a visible key yields 0 (else NaN); without any key, J = 0, every row yields 0, as
    the product of probabilities and values does. Result [B, H, I, E], of the element type of the operands; that of f16 or
    bf16 operands may also be f32, the sums as they are.
  }];
  let arguments = (ins Smelt_Tensor:$query, Smelt_Tensor:$key, Smelt_Tensor:$value, Optional<Smelt_Tensor>:$bias,
                       F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       UnitAttr:$causal, UnitAttr:$zero_masked_rows);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`bias` $bias^ `:` type($bias))? attr-dict `:` type($query) `,` type($key) `,` type($value) `->` type($output)
  }];
  let extraClassDeclaration = "static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);";
}

//===----------------------------------------------------------------------===//
// Reductions and norms
//===----------------------------------------------------------------------===//

def Smelt_ReduceOp : Smelt_InferredOp<"reduce", [DeclareOpInterfaceMethods<Smelt_RowReduction>]> {
  let summary = "Reduction over `axes`, kept with size 1; accumulates in fp32";
  let arguments = (ins Smelt_Tensor:$input, Smelt_ReductionKindAttr:$kind, DenseI64ArrayAttr:$axes);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `->` type($output)";
}

def Smelt_SoftmaxOp : Smelt_PureOp<"softmax",
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<Smelt_RowReduction>]> {
  let summary = "exp(x - max) / sum along one axis";
  let arguments = (ins Smelt_Tensor:$input, I64Attr:$axis);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($output)";
  let hasVerifier = 1;
}

// Norms share their shape: the interface has what they differ in.
class Smelt_NormOp<string mnemonic, string formula, list<Trait> traits = []>
    : Smelt_InferredOp<mnemonic, !listconcat(
          [DeclareOpInterfaceMethods<Smelt_RowReduction>, Smelt_Normalization], traits)> {
  let summary = formula;
  let results = (outs Smelt_Tensor:$output);
}

def Smelt_LayerNormOp : Smelt_NormOp<"layer_norm",
    "(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on, statistics in fp32",
    [AttrSizedOperandSegments]> {
  let arguments = (ins Smelt_Tensor:$input, Optional<Smelt_Tensor>:$scale, Optional<Smelt_Tensor>:$bias,
                       I64Attr:$axis, F32Attr:$epsilon);
  let assemblyFormat = [{
    $input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))? `axis` $axis attr-dict `:` type($input) `->` type($output)
  }];
  let extraClassDeclaration = "bool isCentered() { return true; }";
}

def Smelt_RmsNormOp : Smelt_NormOp<"rms_norm",
    "x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on, statistics in fp32"> {
  let arguments = (ins Smelt_Tensor:$input, Optional<Smelt_Tensor>:$scale, I64Attr:$axis, F32Attr:$epsilon);
  let assemblyFormat = "$input (`scale` $scale^ `:` type($scale))? `axis` $axis attr-dict `:` type($input) `->` type($output)";
  let extraClassDeclaration = [{
    bool isCentered() { return false; }
    ::mlir::Value getBias() { return {}; }
  }];
}

def Smelt_RowMomentsOp : Smelt_InferredOp<"row_moments"> {
  let summary = "Mean, and sum of squared deviations from it, of each 32 neighbours along the last axis, in f32";
  let description = [{
    [..., N] => [..., N/32, 2], N constant. What a kernel that stores x tile by tile can say of its rows; the moments_*
    ops below put the groups of a row together, without the cancellation of a sum of squares.
  }];
  let arguments = (ins Smelt_Tensor:$input);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let extraClassDeclaration = "static constexpr int64_t kGroup = 32;";
}

// Statistics of the rows behind row_moments: [..., G, 2] => [..., 1], which broadcasts against the rows.
class Smelt_MomentsOp<string mnemonic, string formula> : Smelt_InferredOp<mnemonic> {
  let summary = formula;
  let arguments = (ins Smelt_Tensor:$moments);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$moments attr-dict `:` type($moments) `->` type($output)";
}
class Smelt_MomentsRootOp<string mnemonic, string formula> : Smelt_MomentsOp<mnemonic, formula> {
  let arguments = (ins Smelt_Tensor:$moments, F32Attr:$epsilon);
}
def Smelt_MomentsMeanOp : Smelt_MomentsOp<"moments_mean", "mean of the row">;
def Smelt_MomentsRstdOp : Smelt_MomentsRootOp<"moments_rstd",
    "1 / sqrt(variance of the row + epsilon); 0 where the variance is 0 and epsilon is not"> {
  let description = [{
    It scales distances from the row's mean, or sums of them. Where the variance is 0, all distances are: 0 keeps what
    rounding left of their sums from growing by 1 / sqrt(epsilon).
  }];
}
def Smelt_MomentsRrmsOp : Smelt_MomentsRootOp<"moments_rrms", "1 / sqrt(mean square of the row + epsilon)">;

// Along an axis; `exclusive` leaves the element itself out, `reverse` runs backwards.
class Smelt_RunningOp<string mnemonic, string formula> : Smelt_PureOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = formula;
  let arguments = (ins Smelt_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$input `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($output)";
  let hasVerifier = 1;
}
def Smelt_CumsumOp : Smelt_RunningOp<"cumsum", "running sum">;
def Smelt_CumprodOp : Smelt_RunningOp<"cumprod", "running product">;

def Smelt_TopKOp : Smelt_PureOp<"top_k"> {
  let summary = "The first elements along an axis, largest first, and their positions; as many as the results' axis has";
  let description = [{
    `smallest` asks for the smallest first. Of equal elements the one at the lower position comes first; NaN is larger
    than any number. Fails where the results' axis is longer than the input's.
  }];
  let arguments = (ins Smelt_Tensor:$input, I64Attr:$axis, UnitAttr:$smallest);
  let results = (outs Smelt_Tensor:$values, Smelt_Tensor:$positions);
  let assemblyFormat = [{
    $input `axis` $axis (`smallest` $smallest^)? attr-dict `:` type($input) `->` type($values) `,` type($positions)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Indexing. An index i of an axis of size n is valid in [-n, n); outside it the GPU reads a clamped element
// and the interpreter reports an error naming the ONNX node.
//===----------------------------------------------------------------------===//

def Smelt_GatherOp : Smelt_InferredOp<"gather"> {
  let summary = "output[a..., i..., c...] = data[a..., indices[i...], c...] at `axis`";
  let arguments = (ins Smelt_Tensor:$data, Smelt_Tensor:$indices, I64Attr:$axis);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$data `,` $indices `axis` $axis attr-dict `:` type($data) `,` type($indices) `->` type($output)";
}

def Smelt_GatherElementsOp : Smelt_InferredOp<"gather_elements"> {
  let summary = "output[.., i, ..] = data[.., indices[.., i, ..], ..] at `axis`; shape of the indices";
  let arguments = (ins Smelt_Tensor:$data, Smelt_Tensor:$indices, I64Attr:$axis);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$data `,` $indices `axis` $axis attr-dict `:` type($data) `,` type($indices) `->` type($output)";
}

def Smelt_GatherNdOp : Smelt_InferredOp<"gather_nd"> {
  let summary = "output[b..., i..., s...] = data[b..., indices[b..., i..., :], s...] with `batch_dims` leading axes b";
  let arguments = (ins Smelt_Tensor:$data, Smelt_Tensor:$indices, I64Attr:$batch_dims);
  let results = (outs Smelt_Tensor:$output);
  let assemblyFormat = "$data `,` $indices `batch_dims` $batch_dims attr-dict `:` type($data) `,` type($indices) `->` type($output)";
}

class Smelt_ScatterOp<string mnemonic, string formula> : Smelt_InferredOp<mnemonic> {
  let summary = formula;
  let description = [{
    Without a reduction an update replaces the element; with one (sum, prod, max, min) it is combined with what is there.
    Updates of one element follow each other in row-major order of the updates, on every device; an invalid index
    updates nothing on the GPU.
  }];
  let results = (outs Smelt_Tensor:$output);
}

def Smelt_ScatterElementsOp : Smelt_ScatterOp<"scatter_elements",
    "data, where [.., indices[.., i, ..], ..] at `axis` is updated by updates[.., i, ..]"> {
  let arguments = (ins Smelt_Tensor:$data, Smelt_Tensor:$indices, Smelt_Tensor:$updates, I64Attr:$axis,
                       OptionalAttr<Smelt_ReductionKindAttr>:$reduction);
  let assemblyFormat = [{
    $data `,` $indices `,` $updates `axis` $axis (`by` $reduction^)? attr-dict `:` type($data) `,` type($indices) `,` type($updates) `->` type($output)
  }];
}

def Smelt_ScatterNdOp : Smelt_ScatterOp<"scatter_nd", "data, where [indices[i..., :], s...] is updated by updates[i..., s...]"> {
  let arguments = (ins Smelt_Tensor:$data, Smelt_Tensor:$indices, Smelt_Tensor:$updates,
                       OptionalAttr<Smelt_ReductionKindAttr>:$reduction);
  let assemblyFormat = [{
    $data `,` $indices `,` $updates (`by` $reduction^)? attr-dict `:` type($data) `,` type($indices) `,` type($updates) `->` type($output)
  }];
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

def Smelt_FusionOp : Smelt_Op<"fusion", [Pure, IsolatedFromAbove]> {
  let summary = "One kernel: the region holds the very ops that it replaces";
  let description = [{
    The region's arguments are the inputs; it ends in `smelt.yield` of the results. Constants used as literals live
    inside, tensors that kernels read from memory (weights included) are inputs.
    ```
    %y = smelt.fusion gemm(%x, %w, %b) : (...) -> ... { ^bb0(...): ... smelt.yield %r : ... }
    ```
  }];
  let arguments = (ins Smelt_FusionKindAttr:$kind, Variadic<Smelt_Tensor>:$inputs);
  let results = (outs Variadic<Smelt_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Operation *getYield() { return getBlock().getTerminator(); }
  }];
}

def Smelt_YieldOp : Smelt_Op<"yield", [Pure, Terminator, ParentOneOf<["FusionOp"]>]> {
  let summary = "The results of a fusion";
  let arguments = (ins Variadic<Smelt_Tensor>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
}

#endif
