// Ranges that profilers show, named after ONNX nodes. Without a profiler attached they cost a
// branch; without NVTX's header at build time they are nothing.
#pragma once

#include <string>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace smelt::runtime {

class NvtxRange {
public:
  explicit NvtxRange(const std::string &name) { nvtxRangePushA(name.c_str()); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange &) = delete;
};

} // namespace smelt::runtime

#else

namespace smelt::runtime {

class NvtxRange {
public:
  explicit NvtxRange(const std::string &) {}
  NvtxRange(const NvtxRange &) = delete;
};

} // namespace smelt::runtime

#endif
