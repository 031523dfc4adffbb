#include "codegen/kernels/gemm/moment_sources.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt::codegen {

/// The number of the tensor, whose rows are scaled in one way or not at all.
size_t MomentSources::find(const std::string &address, int64_t groups, const std::string &scale) {
  auto found = llvm::find_if(sources, [&](const Source &source) {
    return source.address == address &&
           (scale.empty() || source.scale.empty() || source.scale == scale);
  });
  size_t number = found - sources.begin();
  if (found == sources.end())
    sources.push_back({address, groups, scale});
  else if (!scale.empty())
    found->scale = scale;
  return number;
}

std::string MomentSources::mean(const std::string &address, int64_t groups) {
  return "rows[" + std::to_string(find(address, groups, "")) + "].mean";
}

std::string MomentSources::scale(const std::string &address, int64_t groups,
                                 const std::string &scale) {
  return "rows[" + std::to_string(find(address, groups, scale)) + "].scale";
}

std::string MomentSources::ofEach(llvm::function_ref<std::string(const Source &)> value) const {
  std::string text;
  for (auto [number, source] : llvm::enumerate(sources))
    text += "if constexpr (I == " + std::to_string(number) + ")\n  return " + value(source) + ";\n";
  return text;
}

std::string MomentSources::moments() const {
  return ofEach([](const Source &source) { return source.address; }) + "return nullptr;\n";
}

std::string MomentSources::momentGroups() const {
  return ofEach([](const Source &source) { return std::to_string(source.groups); }) + "return 0;\n";
}

std::string MomentSources::rowScales() const {
  return ofEach([](const Source &source) { return source.scale.empty() ? "1" : source.scale; }) +
         "return 1;\n";
}

} // namespace smelt::codegen
