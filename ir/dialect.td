// The `smelt` dialect, its tensor type and its attributes.
#ifndef SMELT_DIALECT_TD
#define SMELT_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Smelt_Dialect : Dialect {
  let name = "smelt";
  let cppNamespace = "::smelt";
  let summary = "Tensor programs with symbolic dimensions";
  let description = [{
    Named tensor ops with opset-free meaning, dimensions that are symbolic and carried in the types,
    and `smelt.fusion`, whose region holds the very ops that one kernel replaces.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerOps(); // a part of initialize()
  }];
}

class Smelt_Type<string typeName, string typeMnemonic> : TypeDef<Smelt_Dialect, typeName> {
  let mnemonic = typeMnemonic;
}

class Smelt_Attr<string attrName, string attrMnemonic> : AttrDef<Smelt_Dialect, attrName> {
  let mnemonic = attrMnemonic;
}

def Smelt_DimAttr : Smelt_Attr<"Dim", "dim"> {
  let summary = "A dimension: a polynomial over size symbols with integer coefficients";
  let description = [{
    The canonical form behind `smelt::Dim` (ir/dim.h). Term i is `coefficients[i]` times the product of
    the atoms of `monomials[i]`. An atom is a symbol (StringAttr) or a `#smelt.dim_call`.
    Printed as an expression: `#smelt.dim<batch*seq + 1>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$coefficients,
                        ArrayRefParameter<"::mlir::ArrayAttr">:$monomials);
  let hasCustomAssemblyFormat = 1;
}

def Smelt_DimCallAttr : Smelt_Attr<"DimCall", "dim_call"> {
  let summary = "An atom of a dimension that is not a symbol: floordiv, ceildiv, mod, min or max";
  let parameters = (ins StringRefParameter<>:$function, "::mlir::Attribute":$lhs, "::mlir::Attribute":$rhs);
  let assemblyFormat = "`<` $function `,` $lhs `,` $rhs `>`";
}

def Smelt_SourceAttr : Smelt_Attr<"Source", "source"> {
  let summary = "Where a weight's bytes lie";
  let description = [{
    `file` is a file name relative to the model's folder (empty: the weight lies inside the model file, and the
    WeightStore owns its bytes), `offset` and `length` a range of bytes in it;
    `hash` is the hexadecimal XXH3-128 of those bytes, empty where the bytes are not there (structure-only models).
  }];
  let parameters = (ins StringRefParameter<>:$file, "uint64_t":$offset, "uint64_t":$length,
                        StringRefParameter<>:$hash);
  let assemblyFormat = "`<` $file `,` $offset `,` $length `,` $hash `>`";
}

def Smelt_TensorType : Smelt_Type<"Tensor", "tensor"> {
  let summary = "A ranked tensor with symbolic dimensions, row-major and contiguous";
  let description = "`!smelt.tensor<[batch, seq, 768], f16>`; a dimension is any `Dim` expression.";
  let parameters = (ins ArrayRefParameter<"::smelt::DimAttr">:$dims, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::smelt::Dim>":$shape, "::mlir::Type":$elementType)>
  ];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDims().size(); }
    Dim getDim(unsigned axis) const { return Dim(getDims()[axis]); }
    ::llvm::SmallVector<Dim> getShape() const;
    /// Product of all dimensions; 1 for a scalar.
    Dim getNumElements() const;
    /// All dimensions are constants.
    bool isStatic() const;
    /// The constant shape; isStatic() must hold.
    ::llvm::SmallVector<int64_t> getStaticShape() const;
    TensorType withShape(::llvm::ArrayRef<Dim> shape) const { return get(shape, getElementType()); }
    TensorType withElementType(::mlir::Type type) const { return get(getShape(), type); }
  }];
}

def Smelt_ReductionKind : I32EnumAttr<"ReductionKind", "What a reduction computes", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>,
    I32EnumAttrCase<"min", 3>, I32EnumAttrCase<"prod", 4>]> {
  let cppNamespace = "::smelt";
  let genSpecializedAttr = 0;
}
def Smelt_ReductionKindAttr : EnumAttr<Smelt_Dialect, Smelt_ReductionKind, "reduction"> {
  let assemblyFormat = "$value";
}

def Smelt_FusionKind : I32EnumAttr<"FusionKind", "Which family of kernel runs a fusion", [
    I32EnumAttrCase<"pointwise", 0>, I32EnumAttrCase<"rowwise", 1>, I32EnumAttrCase<"gemm", 2>,
    I32EnumAttrCase<"attention", 3>, I32EnumAttrCase<"generic", 4>, I32EnumAttrCase<"selection", 5>,
    I32EnumAttrCase<"columnwise", 6>, I32EnumAttrCase<"squeeze_excite", 7>]> {
  let cppNamespace = "::smelt";
  let genSpecializedAttr = 0;
}
def Smelt_FusionKindAttr : EnumAttr<Smelt_Dialect, Smelt_FusionKind, "kind"> {
  let assemblyFormat = "$value";
}

def Smelt_Relation : I32EnumAttr<"Relation", "How two sizes must compare", [
    I32EnumAttrCase<"equal", 0>, I32EnumAttrCase<"less_equal", 1>]> {
  let cppNamespace = "::smelt";
  let genSpecializedAttr = 0;
}

def Smelt_GuardAttr : Smelt_Attr<"Guard", "guard"> {
  let summary = "A relation between sizes that holds for every shape that the module runs at";
  let description = [{
    `#smelt.guard<<q> less_equal <1024>, "the table of positions has 1024 rows">`; the message says what would go wrong.
    The module's `smelt.guards` is an array of them.
  }];
  let parameters = (ins "::smelt::DimAttr":$left, EnumParameter<Smelt_Relation>:$relation, "::smelt::DimAttr":$right,
                        StringRefParameter<>:$message);
  let assemblyFormat = "`<` $left $relation $right `,` $message `>`";
}

def Smelt_Decision : I32EnumAttr<"Decision", "What a pass decided", [
    I32EnumAttrCase<"taken", 0>, I32EnumAttrCase<"refused", 1>]> {
  let cppNamespace = "::smelt";
  let genSpecializedAttr = 0;
}

def Smelt_RemarkAttr : Smelt_Attr<"Remark", "remark"> {
  let summary = "A decision of a pass about the ops of an ONNX node";
  let description = [{
    `#smelt.remark<refused "attention" of "MatMul_7" by "the head size is at most 256", "it is 320">`; the predicate that
    decided is empty where the fusion was taken. The module's `smelt.remarks` is an array of them.
  }];
  let parameters = (ins EnumParameter<Smelt_Decision>:$decision, StringRefParameter<>:$fusion,
                        StringRefParameter<>:$node, StringRefParameter<>:$predicate, StringRefParameter<>:$message);
  let assemblyFormat = "`<` $decision $fusion `of` $node `by` $predicate `,` $message `>`";
}

#endif
