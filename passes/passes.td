// Every pass of Smelt: its flag, what it does, before => after. One file and one test each, of the same stem.
#ifndef SMELT_PASSES_TD
#define SMELT_PASSES_TD

include "mlir/Pass/PassBase.td"

class Smelt_Pass<string flag> : Pass<"smelt-" # flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::smelt::SmeltDialect"];
}
// Passes that record guards or remarks on the module.
class Smelt_ModulePass<string flag> : Pass<"smelt-" # flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::smelt::SmeltDialect"];
}

//===----------------------------------------------------------------------===//
// simplify: no shape arithmetic, one spelling for each computation
//===----------------------------------------------------------------------===//

def SimplifyShapes : Smelt_ModulePass<"simplify-shapes"> {
  let summary = "Integer tensors whose elements are known sizes become smelt.dims or smelt.constant";
  let description = [{
    ```
    %0 = smelt.dims [batch, seq] : !smelt.tensor<[2], i64>
    %1 = smelt.gather %0, %zero axis 0                        =>  %2 = smelt.dims [12*batch]
    %2 = smelt.mul %1, %twelve
    ```
  }];
}
def SimplifyConstants : Smelt_ModulePass<"simplify-constants"> {
  let summary = "What is computed from small constants alone becomes a constant";
  let description = [{
    ```
    smelt.sqrt (smelt.cast %sixtyFour)                        =>  smelt.constant dense<8.0>
    ```
  }];
}
def SimplifyAffine : Smelt_ModulePass<"simplify-affine"> {
  let summary = "Index and mask tensors that are known at each coordinate become constants, iotas and views";
  let description = [{
    ```
    smelt.less_equal %zero, %iota                             =>  true
    smelt.gather %table, (smelt.iota : [seq]) axis 0          =>  smelt.slice %table starts [0, 0]
    smelt.gather (smelt.reshape %mask : [b*s]), b*s + s       =>  smelt.reshape %mask : [b, 1, 1, s]
    smelt.constant (a lower triangle of ones)                 =>  smelt.less_equal %j, %i
    ```
  }];
}
def SimplifyChannelsLast : Smelt_ModulePass<"simplify-channels-last"> {
  let summary = "A convolution becomes a matmul over the windows of an image with its channels last";
  let description = [{
    ```
    smelt.conv %image, %filter                                =>  smelt.transpose (smelt.matmul (smelt.windows (smelt.transpose %image)), %matrix)
    smelt.relu (smelt.transpose %x)                           =>  smelt.transpose (smelt.relu %x)
    ```
  }];
}
def SimplifyConvPatch : Smelt_ModulePass<"simplify-conv-patch"> {
  let summary = "A convolution whose kernel equals its stride becomes views and a matmul";
  let description = [{
    ```
    smelt.conv %image, %filter {strides = kernel}             =>  smelt.matmul (patches of %image), (matrix of %filter)
    ```
  }];
}
def SimplifyQuantized : Smelt_ModulePass<"simplify-quantized"> {
  let summary = "A matmul of dequantised bytes becomes one of the bytes, scaled behind it";
  let description = [{
    ```
    %x = smelt.mul (smelt.cast %bytes : i8 -> f32), %s        =>  %sums = smelt.matmul %bytes, %weight : i8 -> i32
    %y = smelt.mul (smelt.cast %weight : i8 -> f32), %t           smelt.mul (smelt.cast %sums : i32 -> f32), (smelt.mul %s, %t)
    smelt.matmul %x, %y
    ```
  }];
}
def SimplifyCanonical : Smelt_ModulePass<"simplify-canonical"> {
  let summary = "Algebra to one normal form: constants right, views composed and sunk, broadcasts implicit";
  let description = [{
    Every rewrite is exact in real arithmetic; constants combine only where the result is exact in their type.
    ```
    smelt.div %x, %two                                        =>  smelt.mul %x, %half
    smelt.mul (smelt.reshape %x), %scalar                     =>  smelt.reshape (smelt.mul %x, %scalar)
    smelt.matmul (smelt.reshape %x : [b, s, k] -> [b*s, k])   =>  smelt.reshape (smelt.matmul %x, %w)
    smelt.add (smelt.expand %x), %y                           =>  smelt.add %x, %y
    ```
  }];
}

//===----------------------------------------------------------------------===//
// raise: clusters of primitives become the op that they spell, once the interpreter agrees
//===----------------------------------------------------------------------===//

def RaiseActivation : Smelt_ModulePass<"raise-activation"> {
  let summary = "GELU, SiLU, sigmoid, softplus and ReLU from their formulas";
  let description = [{
    ```
    x * 0.5 * (1 + erf(x * 0.7071))                           =>  smelt.gelu %x
    x * smelt.sigmoid(x)                                      =>  smelt.silu %x
    ```
  }];
}
def RaiseNorm : Smelt_ModulePass<"raise-norm"> {
  let summary = "RMSNorm and LayerNorm from means, squares and roots";
  let description = [{
    ```
    d = x - mean(x); d * rsqrt(mean(d * d) + e) * s + b       =>  smelt.layer_norm %x scale %s bias %b
    x * rsqrt(mean(x * x) + e) * s                            =>  smelt.rms_norm %x scale %s
    ```
  }];
}
def RaiseSoftmax : Smelt_ModulePass<"raise-softmax"> {
  let summary = "exp(x - max(x)) / sum(exp(x - max(x))) => softmax(x)";
}
def RaiseAttention : Smelt_ModulePass<"raise-attention"> {
  let summary = "softmax(scale * Q K^T + bias) V => smelt.attention";
  let description = [{
    ```
    s = matmul(q * 0.35, transpose(k) * 0.35) + bias
    matmul(softmax(s), v)                                     =>  smelt.attention %q, %k, %v bias %bias {scale = 0.125}
    bias = select(j <= i, 0, -inf)                            =>  {causal}
    select(is_nan(softmax(s)), 0, softmax(s))                 =>  {zero_masked_rows}
    select(max(bias) == -inf, 0, softmax(s))                  =>  {zero_masked_rows}
    k = reshape(expand(k' : [b, g, 1, s, d] -> [b, g, r, s, d]))  =>  %k'
    ```
  }];
}

//===----------------------------------------------------------------------===//
// state: what the caller keeps between runs
//===----------------------------------------------------------------------===//

def InPlace : Smelt_ModulePass<"in-place"> {
  let summary = "Inputs that come back with rows behind them grow in a buffer of the caller's";
  let description = [{
    ```
    %y = smelt.concat %past, %new axis 2          =>  %b = smelt.buffer %past           // [.., capacity, ..]
    %z = smelt.attention %q, %y, ...                  %a = smelt.append %b, %new at past axis 2
    return %y                                         %y = smelt.slice %a starts 0      // [.., past + seq, ..]
                                                      %z = smelt.attention %q, %y, ...
                                                      %r = smelt.contents %a
                                                      return %r
    ```
  }];
  let options = [ListOption<"pairs", "pairs", "std::string",
                            "input=output, which share a buffer; a * in both stands for the same text">];
}

//===----------------------------------------------------------------------===//
// narrow: at the user's wish, 16 bits for what needs no more
//===----------------------------------------------------------------------===//

def Narrow : Smelt_ModulePass<"narrow"> {
  let summary = "float32 products, convolutions, attention and what lies between them become 16 bits wide";
  let description = [{
    ```
    %y = smelt.matmul %x, %w : f32                =>  %x16 = smelt.cast %x, %w16 = smelt.cast %w
    %z = smelt.gelu %y : f32                          %y = smelt.matmul %x16, %w16 : f16
    %r = smelt.exp %z : f32                           %z = smelt.gelu %y : f16
                                                      %r = smelt.exp (smelt.cast %z) : f32
    ```
    An op that has `smelt.keep_wide` stays as it is.
  }];
  let options = [Option<"type", "type", "std::string", "", "f16 or bf16">];
}

//===----------------------------------------------------------------------===//
// fuse: graph ops become smelt.fusion
//===----------------------------------------------------------------------===//

def FuseDequantization : Smelt_ModulePass<"fuse-dequantization"> {
  let summary = "Each reader of dequantised bytes gets a dequantisation of its own, which its kernel computes";
  let description = [{
    ```
    %x = smelt.cast %bytes : i8 -> f32                        =>  %x = smelt.cast %bytes : i8 -> f32
    smelt.relu %x                                                 smelt.relu %x
    smelt.add %y, %x                                              %z = smelt.cast %bytes : i8 -> f32
                                                                  smelt.add %y, %z
    ```
  }];
}
def FuseHorizontal : Smelt_ModulePass<"fuse-horizontal"> {
  let summary = "x Wq, x Wk, x Wv => slices of x [Wq|Wk|Wv]";
}
def FuseSiblings : Smelt_ModulePass<"fuse-siblings"> {
  let summary = "Equal elementwise trees over neighbouring slices, read by an attention => slices of one tree";
  let description = [{
    ```
    q = smelt.mul (smelt.slice %y starts [0, 0]), %cos        =>  r = smelt.mul (smelt.slice %y starts [0, 0]), %cos
    k = smelt.mul (smelt.slice %y starts [0, n]), %cos            q = smelt.slice r starts [0, 0]
    smelt.attention q, k, %v                                      k = smelt.slice r starts [0, n]
                                                                  smelt.attention q, k, %v
    ```
  }];
}
def FuseRotary : Smelt_ModulePass<"fuse-rotary"> {
  let summary = "Heads of a projection, turned => the halves of the heads as two products, turned where they meet";
  let description = [{
    ```
    y = smelt.matmul %x, %w                                   =>  l = smelt.matmul %x, %w.lower
    q = smelt.add (smelt.mul y, %cos),                            u = smelt.matmul %x, %w.upper
        (smelt.mul (smelt.concat (smelt.neg y.upper), y.lower), %sin)    q = smelt.concat (l cos - u sin), (u cos + l sin)
    ```
  }];
}
def FuseColumnScale : Smelt_ModulePass<"fuse-column-scale"> {
  let summary = "What scales the channels of a large image scales the weights behind it";
  let description = [{
    ```
    y = smelt.mul %image : [b, h, w, k], %s : [b, 1, 1, k]    =>  w = smelt.mul %s : [b, k, 1], %w : [k, n]
    smelt.matmul y, %w                                            smelt.matmul %image : [b, h*w, k], w
    ```
  }];
}
def FuseSqueezeExcite : Smelt_ModulePass<"fuse-squeeze-excite"> {
  let summary = "An image's mean, two products and what scales the image by them => fusion squeeze_excite";
  let description = [{
    ```
    m = smelt.reduce mean %image axes [1, 2]                  =>  smelt.fusion squeeze_excite {reduce, matmul, silu, matmul, sigmoid, mul}
    g = smelt.sigmoid (smelt.matmul (smelt.silu (smelt.matmul m, %s)), %e)
    smelt.mul %image, g
    ```
  }];
}
def FuseAttention : Smelt_ModulePass<"fuse-attention"> {
  let summary = "attention and the views around it => fusion attention";
}
def FuseNorm : Smelt_ModulePass<"fuse-norm"> {
  let summary = "A norm between products becomes row moments in the one's epilogue and algebra in the others'";
  let description = [{
    ```
    y = smelt.layer_norm (x = smelt.matmul %a, %v)            =>  m = smelt.row_moments %x
    smelt.matmul %y, %w                                       =>  rstd(m) * (smelt.matmul %x, %w' - mean(m) * u) + v
    smelt.add (smelt.matmul %b, %q), %y                       =>  smelt.add (...), (x - mean(m)) * rstd(m) * scale + bias
    ```
  }];
}
def FuseGemm : Smelt_ModulePass<"fuse-gemm"> {
  let summary = "gelu(x W + b) + r => fusion gemm";
}
def FuseRowwise : Smelt_ModulePass<"fuse-rowwise"> {
  let summary = "layer_norm(gather + gather) => fusion rowwise";
}
def FuseColumnwise : Smelt_ModulePass<"fuse-columnwise"> {
  let summary = "reduce over axes before the last, with what computes its elements => fusion columnwise";
  let description = [{
    ```
    smelt.reduce max (smelt.windows %image) axes [2, 4]       =>  smelt.fusion columnwise {windows, reduce}
    ```
  }];
}
def FuseSelection : Smelt_ModulePass<"fuse-selection"> {
  let summary = "top_k(transpose(sigmoid(x))) => fusion selection";
}
def FuseGeneric : Smelt_ModulePass<"fuse-generic"> {
  let summary = "an op that no template fuses => fusion generic";
}
def FusePointwise : Smelt_ModulePass<"fuse-pointwise"> {
  let summary = "chains of elementwise ops, gathers and views => fusion pointwise";
}

//===----------------------------------------------------------------------===//
// lower: the form that the code generator accepts
//===----------------------------------------------------------------------===//

def LowerRounding : Smelt_Pass<"lower-rounding"> {
  let summary = "What a kernel rounds to bytes and widens again stays a float";
  let description = [{
    ```
    smelt.cast (smelt.cast %rounded : f32 -> i8) : i8 -> f32  =>  %rounded
    ```
  }];
}
def Lower : Smelt_Pass<"lower"> {
  let summary = "Drops dead ops, checks the fused form";
}

#endif
