#include "codegen/tunable.h"

#include "codegen/equal_fusions.h"
#include "codegen/fusion_module.h"
#include "codegen/kernels/gemm/gemm.h"

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

} // namespace smelt::codegen
