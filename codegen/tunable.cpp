#include "codegen/tunable.h"

#include "codegen/equal_fusions.h"
#include "codegen/fusion_module.h"
#include "codegen/kernels/gemm/gemm.h"
#include "ir/capabilities.h"
#include "ir/element_bytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::codegen {

Result<std::vector<TunableProduct>> tunableProducts(ModuleOp fused, const Target &target, bool tf32,
                                                    size_t most) {
  std::vector<TunableProduct> products;
  std::set<std::string> known;
  EqualFusions seen;
  for (auto fusion : fused.lookupSymbol<func::FuncOp>("main").getOps<FusionOp>()) {
    if (fusion.getKind() != FusionKind::gemm || seen.find(fusion))
      continue;
    seen.add(fusion, products.size());
    FailureOr<TunableProduct> product = tunableGemm(fusion, target, tf32, most);
    if (failed(product))
      return Status(StatusCode::kInvalidModel,
                    "no kernel for some fusions; see the messages before this one");
    product->module = fusionModuleText(fusion);
    if (!product->module.empty() && known.insert(product->key).second)
      products.push_back(std::move(*product));
  }
  return products;
}

static int64_t bytesOf(TensorType type) {
  int64_t bytes = elementBytes(type.getElementType());
  for (Dim dim : type.getShape())
    bytes *= dim.asConstant().value_or(1);
  return bytes;
}

int64_t productWeightBytes(ModuleOp fused) {
  int64_t bytes = 0;
  for (auto fusion : fused.lookupSymbol<func::FuncOp>("main").getOps<FusionOp>())
    if (fusion.getKind() == FusionKind::gemm)
      for (Value input : fusion.getInputs())
        if (isWeightExpression(input))
          bytes += bytesOf(cast<TensorType>(input.getType()));
  return bytes;
}

} // namespace smelt::codegen
